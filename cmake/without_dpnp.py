# SPDX-License-Identifier: Apache-2.0
"""Import the package in a build, which may lack dpnp: with a stand-in that has every class."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types


class _AnyClass(type):
    """A class with every attribute, for signatures and base classes."""

    def __getattr__(cls, name):
        if name in ("__set_name__", "__mro_entries__"):
            raise AttributeError(name)
        setattr(cls, name, _AnyClass(name, (), {"__module__": cls.__module__}))
        return getattr(cls, name)

    def __or__(cls, other):
        return cls

    __ror__ = __or__


class _AnyModule(types.ModuleType):
    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, _AnyClass(name, (), {"__module__": self.__name__}))
        return getattr(self, name)


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports dpnp and its submodules as modules that have every class."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "dpnp":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _AnyModule(spec.name)

    def exec_module(self, module):
        pass


def import_package(extension, folder):
    """Import the ``sycl_dnn`` of a folder over this extension, also if another is installed."""
    # Editable installs have their own finder.
    sys.meta_path[:0] = [_StandIns(), importlib.machinery.PathFinder]
    paths = [str(folder), str(extension.parent)]
    modules = {"sycl_dnn": (folder / "__init__.py", paths), "sycl_dnn._core": (extension, None)}
    for name, (file, places) in modules.items():
        spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=places)
        sys.modules[name] = importlib.util.module_from_spec(spec)
    package, core = (sys.modules[name] for name in modules)
    core.__spec__.loader.exec_module(core)
    package._core = core
    package.__spec__.loader.exec_module(package)
    return core
