# SPDX-License-Identifier: MIT
"""Spoilt copies of a file, each told by a number: the same ones in every run and on every machine."""
import random
import re
import struct
import zlib

NUMBERS = (0, 1, 2, 3, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 0xffffff, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
           0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff)
WORDS = (b"0", b"-1", b"1", b"65535", b"65536", b"2147483647", b"2147483648", b"4294967295", b"4294967296", b"18446744073709551616",
         b"1e9", b"nan", b"9" * 40)


def place(chance, data):
    """Headers are where the harm is done."""
    return chance.randrange(min(len(data), chance.choice((16, 64, 256, 1024, len(data), len(data)))) or 1)


def flip(chance, data):
    for _ in range(chance.randrange(1, 9)):
        data[place(chance, data)] ^= 1 << chance.randrange(8)


def put_number(chance, data):
    size, order = chance.choice((1, 2, 2, 4, 4, 4, 8)), chance.choice(("big", "little"))
    at = place(chance, data)
    data[at:at + size] = (chance.choice(NUMBERS) & (1 << 8 * size) - 1).to_bytes(size, order)


def put_noise(chance, data):
    at, size = place(chance, data), chance.randrange(1, 65)
    data[at:at + size] = chance.randbytes(min(size, len(data) - at))


def fill(chance, data):
    at, size = place(chance, data), chance.randrange(1, 257)
    data[at:at + size] = chance.choice((b"\0", b"\xff")) * min(size, len(data) - at)


def cut(chance, data):
    del data[chance.randrange(len(data)):]


def drop(chance, data):
    at = place(chance, data)
    del data[at:at + chance.choice((1, 2, 4, 12, 64, 256))]


def insert(chance, data):
    at = place(chance, data)
    data[at:at] = chance.randbytes(chance.choice((1, 2, 4, 12, 64)))


def repeat(chance, data):
    at, size = place(chance, data), chance.choice((1, 4, 12, 25, 64, 256))
    data[at:at] = data[at:at + size] * chance.choice((1, 2, 30, 300))


def move(chance, data):
    at, to, size = place(chance, data), place(chance, data), chance.choice((4, 12, 64))
    data[to:to + size] = data[at:at + size]


def put_word(chance, data):
    """Where a number is written in digits."""
    found = list(re.finditer(rb"\d+", bytes(data[:256])))
    if found:
        number = chance.choice(found[:4])
        data[number.start():number.end()] = chance.choice(WORDS)


CHANGES = (flip, flip, put_number, put_number, put_number, put_noise, fill, cut, drop, insert, repeat, move, put_word)


def chunks(data):
    """(type, bytes) of a PNG, as far as there are any."""
    at = 8
    while at + 8 <= len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, bytes(data[at + 8:at + 8 + size])
        at += 12 + size


def join(parts):
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
                                           for kind, body in parts)


def spoil_inside(chance, data):
    """A PNG whose checksums are right: one chunk is changed, or what it holds compressed."""
    parts = list(chunks(data))
    which = chance.randrange(len(parts))
    kind, body = parts[which]
    if kind == b"IDAT" and chance.random() < 0.7:
        body = bytearray(zlib.decompress(body))
        chance.choice(CHANGES)(chance, body)
        body = zlib.compress(bytes(body), chance.choice((0, 1, 9)))
    elif body:
        body = bytearray(body)
        chance.choice(CHANGES)(chance, body)
    parts[which] = (kind, bytes(body))
    if chance.random() < 0.2:
        parts.insert(chance.randrange(len(parts)), chance.choice(parts))
    return join(parts)


def mutant(name, seeds, number):
    """(ending, bytes) of a format's mutant."""
    chance = random.Random(f"{name} {number}")
    ending, data = seeds[number % len(seeds)]
    if name == "PNG" and chance.random() < 0.5:
        return ending, spoil_inside(chance, data)
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        if data:
            chance.choice(CHANGES)(chance, data)
    return ending, bytes(data)
