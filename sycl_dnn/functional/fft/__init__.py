# SPDX-License-Identifier: Apache-2.0
"""``torch.fft`` for dpnp arrays: discrete Fourier transforms of real and complex numbers.

Transforms are those of ``dpnp.fft`` (oneMKL), each recorded as one call. Their gradients are
transforms, too, so derivatives of every order follow.
"""

from sycl_dnn.functional import docstring_examples
from sycl_dnn.functional.fft.discrete_fourier import (
    fft,
    fft2,
    fftn,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)
from sycl_dnn.functional.fft.sample_frequencies import fftfreq, fftshift, ifftshift, rfftfreq

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

docstring_examples.attach(globals(), __file__)
