#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small asymmetric PNG cards in each colour type and depth. Standard library only.

usage: cards.py FOLDER          the cards; others in FOLDER/spoiled and FOLDER/turned, for check_png

Widths are no multiples of 8; pixels differ wherever the depth allows it, and no card equals one of its own
turns. A palette's entry i is red i, so that a decoder that shows colours shows the indices too.
"""
import os
import struct
import sys
import zlib

GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}
# The passes of an interlaced PNG: first column, first row, step in columns, step in rows.
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def sample(i, channel, depth):
    """Sample of pixel i: distinct for 251 pixels of 8 bits; both bytes of 16 matter."""
    if depth == 16:
        return ((i * 37 + channel * 85 + 11) % 251) << 8 | (i * 101 + channel * 59 + 7) % 253 + 1
    if depth == 8:
        return (i * 37 + channel * 85 + 11) % 251
    return (i * 7 + i * i // 3 + (i >> 2)) % (1 << depth)


def packed_row(samples, depth):
    bits = "".join(format(s, "0%db" % depth) for s in samples)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))


def image_data(pixels, columns, rows, depth):
    """Rows, each with filter type 0."""
    return b"".join(b"\0" + packed_row([s for x in columns for s in pixels[y][x]], depth) for y in rows)


def turns(pixels):
    """The eight turns of a picture, to compare it with."""
    for _ in range(2):
        for _ in range(4):
            yield pixels
            pixels = [list(column) for column in zip(*pixels[::-1])]
        pixels = [row[::-1] for row in pixels]


def encode(pixels, colour, depth, interlaced=0, palette=b"", transparency=b"", extra=b""):
    width, height = len(pixels[0]), len(pixels)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))
    png += extra
    if palette:
        png += chunk(b"PLTE", palette)
    if transparency:
        png += chunk(b"tRNS", transparency)
    if interlaced:
        data = b"".join(image_data(pixels, range(x, width, dx), range(y, height, dy), depth)
                        for x, y, dx, dy in ADAM7 if x < width and y < height)
    else:
        data = image_data(pixels, range(width), range(height), depth)
    return png + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b"")


def palette_of(depth):
    return b"".join(bytes((i, 255 - i, i * 53 % 256)) for i in range(min(1 << depth, 251)))


def card(width, height, colour, depth, interlaced, transparent):
    pixels = [[tuple(sample(y * width + x, c, depth) for c in range(CHANNELS[colour])) for x in range(width)]
              for y in range(height)]
    all_turns = list(turns(pixels))
    assert all(all_turns[i] != all_turns[j] for i in range(8) for j in range(i)), "a symmetrical card"
    if depth >= 8:
        assert len({p for row in pixels for p in row}) == width * height

    palette = palette_of(depth) if colour == PALETTE else b""
    transparency = b""
    if transparent and palette:  # fewer than there are entries: the rest is opaque
        transparency = bytes((i * 71 + 3) % 256 for i in range(len(palette) // 6 + 1))
    elif transparent:  # the colour of pixel 4
        transparency = struct.pack(">%dH" % CHANNELS[colour], *pixels[0][4])
    return encode(pixels, colour, depth, interlaced, palette, transparency)


def spoiled():
    """Three cards, each first as it is and then with one fault each: what check_png has to see."""
    pixels = [[(sample(y * 13 + x, 0, 4),) for x in range(13)] for y in range(7)]
    palette = palette_of(4)
    good = {"pixels": pixels, "colour": PALETTE, "depth": 4, "palette": palette, "transparency": b"\3\4\5",
            "extra": chunk(b"pHYs", struct.pack(">IIB", 11811, 5906, 1))}
    swapped = [[({0: 1, 1: 0}.get(i, i),) for i, in row] for row in pixels]
    other = [list(row) for row in pixels]
    other[6][12] = (other[6][12][0] ^ 1,)
    colours = [[tuple(palette[3 * i:3 * i + 3]) for i, in row] for row in pixels]
    yield "good", good
    yield "sample", {**good, "pixels": other}
    yield "palette-order", {**good, "pixels": swapped, "palette": palette[3:6] + palette[:3] + palette[6:]}
    yield "palette-entry", {**good, "palette": palette[:47] + b"\7"}
    yield "palette-shorter", {**good, "palette": palette[:45], "pixels": [[(min(i, 14),) for i, in r] for r in pixels]}
    yield "trns-gone", {**good, "transparency": b""}
    yield "trns-longer", {**good, "transparency": b"\3\4\5\xff"}
    yield "trns-value", {**good, "transparency": b"\3\4\6"}
    yield "interlaced", {**good, "interlaced": 1}
    yield "depth", {**good, "depth": 8}
    yield "colour-type", {**good, "pixels": colours, "colour": RGB, "depth": 8, "palette": b"", "transparency": b""}
    yield "width", {**good, "pixels": [row[:12] for row in pixels]}
    yield "height", {**good, "pixels": pixels[:6]}
    yield "phys-gone", {**good, "extra": b""}
    yield "phys-swapped", {**good, "extra": chunk(b"pHYs", struct.pack(">IIB", 5906, 11811, 1))}

    colours = [[tuple(sample(y * 5 + x, c, 16) for c in range(3)) for x in range(5)] for y in range(3)]
    good = {"pixels": colours, "colour": RGB, "depth": 16, "transparency": b"\1\2\3\4\5\6"}
    blue = [list(row) for row in colours]
    blue[2][4] = (*blue[2][4][:2], blue[2][4][2] ^ 1)  # one bit of the last byte of all
    yield "rgb-good", good
    yield "rgb-sample", {**good, "pixels": blue}
    yield "rgb-trns-value", {**good, "transparency": b"\1\2\3\4\5\7"}
    grey = [[(sample(y * 5 + x, 0, 16),) for x in range(5)] for y in range(3)]
    yield "grey-good", {"pixels": grey, "colour": GREY, "depth": 16, "transparency": b"\1\2"}
    yield "grey-trns-value", {"pixels": grey, "colour": GREY, "depth": 16, "transparency": b"\1\3"}


def main(folder):
    cards = [("grey", GREY, d) for d in (1, 2, 4, 8, 16)] + [("rgb", RGB, d) for d in (8, 16)]
    cards += [("palette", PALETTE, d) for d in (1, 2, 4, 8)] + [("greyalpha", GREY_ALPHA, d) for d in (8, 16)]
    cards += [("rgba", RGBA, d) for d in (8, 16)]
    plain = [(name, colour, depth, "", 0, False) for name, colour, depth in cards]
    with_trns = [(n, c, d, "-trns", 0, True) for n, c, d in cards
                 if (n, d) in (("grey", 1), ("grey", 4), ("grey", 16), ("rgb", 8), ("rgb", 16), ("palette", 1),
                               ("palette", 4), ("palette", 8))]
    interlaced = [(n, c, d, "-interlaced", 1, False) for n, c, d in cards
                  if (n, d) in (("grey", 1), ("rgb", 8), ("palette", 2), ("rgba", 16))]
    for name, colour, depth, suffix, is_interlaced, transparent in plain + with_trns + interlaced:
        for width, height in (5, 3), (13, 7):
            path = os.path.join(folder, "%s%d%s-%dx%d.png" % (name, depth, suffix, width, height))
            with open(path, "wb") as file:
                file.write(card(width, height, colour, depth, is_interlaced, transparent))
    for folder_of_others in "spoiled", "turned":
        os.makedirs(os.path.join(folder, folder_of_others), exist_ok=True)
    for fault, arguments in spoiled():
        with open(os.path.join(folder, "spoiled", fault + ".png"), "wb") as file:
            file.write(encode(**arguments))
    # One grey all over: turned, only the pixel density tells. A quarter turn of the one is the other.
    for name, x, y in ("wide", 5906, 11811), ("tall", 11811, 5906):
        with open(os.path.join(folder, "turned", "density-%s.png" % name), "wb") as file:
            file.write(encode([[(9,)] * 3] * 3, GREY, 8, extra=chunk(b"pHYs", struct.pack(">IIB", x, y, 1))))


main(sys.argv[1])
