# SPDX-License-Identifier: MIT
"""Small whole files of each format that the command reads. Those of libvips' formats are made by the command `vips`."""
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import pngs
import tiffs

WIDTH, HEIGHT = 29, 18
BLOCKS = 48, 32  # of a JPEG, which a turn without loss needs to be whole
TEXT = pngs.chunk(b"tEXt", b"Comment\0words") + pngs.chunk(b"zTXt", b"More\0\0" + zlib.compress(b"of them " * 9))


def png():
    extras = (TEXT + pngs.chunk(b"pHYs", struct.pack(">IIB", 300, 72, 1)) + pngs.chunk(b"eXIf", pngs.exif(6))
              + pngs.chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + pngs.xmp(3, True)))
    profile = pngs.chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(pngs.raw_profile(8)))
    adam = interlaced(16, 6)
    return [("png", data) for data in (
        pngs.png(WIDTH, HEIGHT, 8, 2, before=extras, after=TEXT), pngs.png(WIDTH, HEIGHT, 4, 3, before=pngs.chunk(b"tRNS", b"\0\x80")),
        pngs.png(WIDTH, HEIGHT, 16, 4), pngs.png(WIDTH, HEIGHT, 1, 0, before=profile), adam)]


def interlaced(depth, colour):
    """Adam7, of equal bytes."""
    stream = b""
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        width, height = -(-(WIDTH - x0) // dx), -(-(HEIGHT - y0) // dy)
        stream += (b"\1" + bytes([width]) * (width * depth * pngs.CHANNELS[colour] // 8)) * height
    return (pngs.SIGNATURE + pngs.header(WIDTH, HEIGHT, depth, colour, 1) + pngs.chunk(b"IDAT", zlib.compress(stream))
            + pngs.chunk(b"IEND"))


def pnm():
    noise = random.Random(1)
    return [("pbm", b"P1\n# words\n9 7\n" + b"1 0 0 1 1 0 1 0 1\n" * 7), ("pgm", b"P2\n5 4 999\n" + b"0 12 999 7 65\n" * 4),
            ("ppm", b"P3 3 2\n255\n" + b"0 12 255 7 65 1 2 3 4\n" * 2), ("pbm", b"P4\n29 18\n" + noise.randbytes(4 * 18)),
            ("pgm", b"P5 29 18 65535\n" + noise.randbytes(29 * 18 * 2)), ("ppm", b"P6\n29 18\n255\n" + noise.randbytes(29 * 18 * 3)),
            ("pam", b"P7\nWIDTH 29\nHEIGHT 18\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n" + noise.randbytes(29 * 18 * 4)),
            ("pfm", b"PF\n9 7\n-1.0\n" + noise.randbytes(9 * 7 * 12))]


def tiff():
    rows = [[(x * 7 % 256, y * 11 % 256, 99) for x in range(WIDTH)] for y in range(HEIGHT)]
    text = {270: (2, b"words\0"), 282: (tiffs.RATIONAL, [300, 1]), 283: (tiffs.RATIONAL, [72, 1]), 296: (3, [2]), 274: (3, [6]), 65000: (7, b"private")}
    level = tiffs.picture([row[::2] for row in rows[::2]], 8, deflate=True)
    pages = [tiffs.picture(rows, 8, strip=5, deflate=True, extra=text),
             tiffs.picture(rows, 8, tile=(16, 16), nested={330: [level]}), tiffs.picture(rows, 16, planar=True, strip=7)]
    own = [("tif", tiffs.write(pages)), ("tif", tiffs.write(pages[:2], big=True)),
           ("tif", tiffs.write([tiffs.picture(rows, 8, ">", tile=(16, 16), deflate=True, extra=text)], ">"))]
    return own + [("tif", data) for data in (
        make("tif", "tiffsave", "--compression", "lzw", "--predictor", "horizontal"), make("tif", "tiffsave", "--compression", "jpeg", size=BLOCKS),
        make("tif", "tiffsave", "--compression", "ccittfax4", "--bitdepth", "1", grey=True)) if data]


# {format: (ending, [options of vips that save it])}; ROLL: three pages.
ROLL = "--page-height"
OF_LIBVIPS = {
    "JPEG": ("jpg", [["jpegsave"], ["jpegsave", "--interlace", "--Q", "90", "--subsample-mode", "off"]]),
    "WebP": ("webp", [["webpsave", "--lossless"], ["webpsave"], ["webpsave", "--lossless", ROLL, "9"]]),
    "GIF": ("gif", [["gifsave"], ["gifsave", "--interlace"], ["gifsave", ROLL, "9"]]),
    "AVIF": ("avif", [["heifsave", "--compression", "av1"], ["heifsave", "--compression", "av1", "--lossless"]]),
    "HEIF": ("heic", [["heifsave"]]),
    "JPEG XL": ("jxl", [["jxlsave", "--lossless"], ["jxlsave"]]),
    "JPEG 2000": ("jp2", [["jp2ksave", "--lossless"], ["jp2ksave", "--tile-width", "16", "--tile-height", "16"]]),
    "Radiance": ("hdr", [["radsave"]]),
    "BMP": ("bmp", [["magicksave", "--format", "bmp"]]),
    "VIPS": ("v", [["copy"]]),
}
FORMATS = ("PNG", "PNM", "TIFF", *OF_LIBVIPS)


def camera(jpeg):
    """With what a camera puts in: EXIF with a thumbnail, XMP, a comment."""
    exif = bytearray(pngs.exif(6))
    at = len(exif)
    exif[at - 4:at] = struct.pack(">I", at)  # the next directory, which has the thumbnail
    entries = [(0x103, 3, 1, 6 << 16), (0x201, 4, 1, at + 2 + 36 + 4), (0x202, 4, 1, len(jpeg))]
    exif += struct.pack(">H", 3) + b"".join(struct.pack(">HHII", *e) for e in entries) + bytes(4) + jpeg
    segment = lambda marker, body: bytes((0xff, marker)) + struct.pack(">H", len(body) + 2) + body
    return (jpeg[:2] + segment(0xe1, b"Exif\0\0" + bytes(exif)) + segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0" + pngs.xmp(6, False))
            + segment(0xfe, b"words") + jpeg[2:])


def make(ending, *save, grey=False, size=(WIDTH, HEIGHT)):
    """A file by `vips`; None where that cannot."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in.png"), os.path.join(folder, "out." + ending)
        with open(source, "wb") as file:
            file.write(pngs.png(size[0], 27 if ROLL in save else size[1], 8, 0 if grey else 2, before=pngs.chunk(b"eXIf", pngs.exif(6))))
        if not shutil.which("vips") or subprocess.run(["vips", save[0], source, target, *save[1:]], capture_output=True).returncode:
            return None
        with open(target, "rb") as file:
            return file.read()


def seeds(name):
    """Those of a format: [(ending, bytes)]; none where `vips` does not write it."""
    own = {"PNG": png, "PNM": pnm, "TIFF": tiff}
    if name in own:
        return own[name]()
    ending, saves = OF_LIBVIPS[name]
    found = [(ending, data) for data in (make(ending, *save, size=BLOCKS if name == "JPEG" else (WIDTH, HEIGHT)) for save in saves) if data]
    return found + [("jpg", camera(data)) for _, data in found[:1] if name == "JPEG"]
