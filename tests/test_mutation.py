# SPDX-License-Identifier: Apache-2.0
"""The mutation-testing program."""

import ast

import mutation

TEXT = '''
def area(width: int = 2, height=3) -> int:
    """Width by height, 4 at most."""
    check(width)
    if width <= height and not width:
        raise ValueError(f"{width + 1} is wrong")
    return width * height
'''


def test_each_change_is_another_program(tmp_path):
    path = tmp_path / "area.py"
    path.write_text(TEXT)
    matches = [(m.kind, TEXT[m.start : m.end], m.text) for m in mutation.mutants(path)]
    assert sorted(matches) == [
        ("condition", "width <= height and not width", "(not (width <= height and (not width)))"),
        ("constant", "2", "3"),
        ("constant", "3", "4"),
        ("dropped call", "check(width)", "None"),
        ("operator", "width * height", "(width + height)"),
        ("operator", "width <= height", "(width < height)"),
        ("operator", "width <= height and not width", "(width <= height or not width)"),
    ]
    for m in mutation.mutants(path):
        assert ast.dump(ast.parse(TEXT[: m.start] + m.text + TEXT[m.end :])) != ast.dump(
            ast.parse(TEXT)
        )


def test_a_seed_chooses_the_same_again():
    paths = [mutation.PACKAGE / "ir"]
    first, second = (mutation.chosen(paths, 9, seed) for seed in (5, 5))
    assert first == second != mutation.chosen(paths, 9, 6)
    assert len({m.kind for m in first}) >= 3


def test_a_file_has_the_tests_of_its_folder():
    for name, folder in {
        "ir/node.py": "tests/ir", "functional/shape/interpolate.py": "tests/functional/shape",
        "cache.py": "tests",
    }.items():  # fmt: skip
        assert mutation.folder_of_tests(mutation.PACKAGE / name) == folder
