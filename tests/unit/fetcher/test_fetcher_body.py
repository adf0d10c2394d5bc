"""Is every byte of a compressed body decoded, however it arrives?"""

import random
import zlib

import brotli
import pytest

from cobnut.fetcher.body import decode_all

SIZES = (0, 1, 100, 65_536, 98_890, 300_000, 2_000_000)


def text_of(size: int) -> bytes:
    return bytes(random.Random(size).choices(b"abcdefgh \n<>/", k=size))


@pytest.mark.parametrize("size", SIZES)
def test_brotli_gives_back_every_byte(size: int) -> None:
    """The decoder may hold output back when it says that it accepts more input; the tail must not be lost."""
    assert decode_all(brotli.compress(text_of(size), quality=4), "br", 10**9) == text_of(size)


@pytest.mark.parametrize("size", SIZES)
def test_gzip_gives_back_every_byte(size: int) -> None:
    packer = zlib.compressobj(wbits=31)
    assert decode_all(packer.compress(text_of(size)) + packer.flush(), "gzip", 10**9) == text_of(size)


def test_the_cap_holds() -> None:
    assert len(decode_all(brotli.compress(b"0" * 5_000_000), "br", 1_000)) == 1_000
