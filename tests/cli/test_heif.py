# SPDX-License-Identifier: MIT
"""HEIF and AVIF, whose headers say how their pictures lie: made and judged by hand, without any decoder.

usage: test_heif.py IMGTRANSPOSE
"""
import os
import struct
import sys
import unittest

import pngs
from command import ARGUMENTS, CommandTest, turn

MARK = [[1, 2, 3], [4, 5, 6]]
TURNS = {b"irot": ("none", "rot270", "rot180", "rot90"), b"imir": ("flipv", "fliph")}  # the angles are against the clock


def box(kind, *parts):
    body = b"".join(parts)
    return struct.pack(">I", len(body) + 8) + kind + body


def full(kind, version, flags, *parts):
    return box(kind, struct.pack(">I", version << 24 | flags), *parts)


def boxes(data):
    at, found = 0, []
    while at < len(data):
        size = struct.unpack(">I", data[at:at + 4])[0]
        found.append((data[at + 4:at + 8], data[at + 8:at + size]))
        at += size
    return found


class Heif:
    """Items are {id: (type, data, [properties])}; properties are numbered from 1 on."""
    def __init__(self, items, properties, references=(), primary=1, wide=0, wide_ids=0, sizes=0x4400, base=0, before=b"", in_meta=(), hidden=(), behind=b""):
        self.items, self.properties, self.references, self.primary = items, properties, references, primary
        self.wide, self.wide_ids, self.sizes, self.base, self.before, self.in_meta, self.hidden, self.behind = wide, wide_ids, sizes, base, before, in_meta, hidden, behind

    def __bytes__(self):
        ident = lambda n: struct.pack(">I" if self.wide_ids else ">H", n)
        start = box(b"ftyp", b"avif\0\0\0\0avifmif1") + self.before
        def meta(at):
            where, inner = {}, b""
            for n, (_, data, _) in self.items.items():
                where[n] = len(inner) if n in self.in_meta else at
                if n in self.in_meta:
                    inner += data
                else:
                    at += len(data)
            number = lambda size, value: value.to_bytes(size, "big")
            sizes = self.sizes >> 12, self.sizes >> 8 & 15, self.sizes >> 4 & 15
            places = b""
            for n, (_, data, _) in self.items.items():
                base = self.base if n not in self.in_meta else 0
                if base == "all":
                    base = where[n]
                places += (ident(n) + struct.pack(">HH", n in self.in_meta, 0) + number(sizes[2], base) + b"\0\1"
                           + number(sizes[0], where[n] - base) + number(sizes[1], len(data)))
            infe = [full(b"infe", 3 if self.wide_ids else 2, n in self.hidden, ident(n), b"\0\0", kind, b"\0", b"application/rdf+xml\0" if kind == b"mime" else b"")
                    for n, (kind, _, _) in self.items.items()]
            associated = [(n, p) for n, (_, _, p) in self.items.items() if p]
            prop = lambda p: struct.pack(">H", p) if self.wide else bytes([p >> 8 | p & 0x7f])
            ipma = b"".join(ident(n) + bytes([len(p)]) + b"".join(map(prop, p)) for n, p in associated)
            return full(b"meta", 0, 0, full(b"hdlr", 0, 0, bytes(4) + b"pict" + bytes(13)), full(b"pitm", self.wide_ids, 0, ident(self.primary)),
                        full(b"iloc", 2 if self.wide_ids else 1, 0, struct.pack(">H", self.sizes), struct.pack(">I" if self.wide_ids else ">H", len(self.items)), places),
                        full(b"iinf", self.wide_ids, 0, struct.pack(">I" if self.wide_ids else ">H", len(infe)), *infe),
                        full(b"iref", self.wide_ids, 0, *[box(kind, ident(a), struct.pack(">H", len(to)), *map(ident, to)) for kind, a, to in self.references]) if self.references else b"",
                        box(b"idat", inner) if inner else b"",
                        box(b"iprp", box(b"ipco", *self.properties), full(b"ipma", self.wide_ids, self.wide, struct.pack(">I", len(associated)), ipma)))
        head = start + meta(len(start) + len(meta(1000)) + 8)
        return head + box(b"mdat", *[data for n, (_, data, _) in self.items.items() if n not in self.in_meta]) + self.behind


def parsed(data):
    """Of each item: its data, the properties that are no turns, and how a mark is turned by those that are."""
    meta = dict(boxes(data))[b"meta"][4:]
    inside = dict(boxes(meta))
    iprp = boxes(inside[b"iprp"])
    properties = boxes(dict(iprp)[b"ipco"])
    flags, ipma = dict(iprp)[b"ipma"][:4], dict(iprp)[b"ipma"][8:]
    ids, wide, version = 4 if flags[0] else 2, flags[3] & 1, inside[b"iloc"][0]
    at, associations = 0, {}
    while at < len(ipma):
        item, n = int.from_bytes(ipma[at:at + ids], "big"), ipma[at + ids]
        at += ids + 1
        kept, mark, essential = [], MARK, True
        for _ in range(n):
            value = int.from_bytes(ipma[at:at + 1 + wide], "big")
            at += 1 + wide
            kind, body = properties[(value & (0x7fff if wide else 0x7f)) - 1]
            if kind in TURNS:
                mark = turn(mark, TURNS[kind][body[0]])
                essential = essential and value >> (15 if wide else 7)
            else:
                kept.append((kind, body, value >> (15 if wide else 7)))
        assert essential, "readers may pass over it"
        associations[item] = (kept, mark)
    iloc, at, found = inside[b"iloc"], 8 if version < 2 else 10, {}
    sizes = iloc[4] >> 4, iloc[4] & 15, iloc[5] >> 4
    def take(n):
        nonlocal at
        at += n
        return int.from_bytes(iloc[at - n:at], "big")
    while at < len(iloc):
        item, method = take(4 if version == 2 else 2), take(2)
        assert take(2) == 0
        base = take(sizes[2])
        assert take(2) == 1
        start, length = base + take(sizes[0]), take(sizes[1])
        place = inside[b"idat"] if method else data
        found[item] = (place[start:start + length], *associations.get(item, ([], MARK)))
    others = [part for part in boxes(meta) if part[0] not in (b"iprp", b"iloc", b"idat")]
    return found, others


def exif(orientation, skipped=b""):
    return struct.pack(">I", len(skipped)) + skipped + pngs.exif(orientation)


SIZE, AV1C, ROT, MIR = full(b"ispe", 0, 0, struct.pack(">II", 30, 20)), box(b"av1C", b"\x81\0\x0c\0"), box(b"irot", b"\1"), box(b"imir", b"\1")
E = 0x8000
TAGS = ["none", "fliph", "rot180", "flipv", "transpose", "rot90", "transverse", "rot270"]


class Pictures(CommandTest):
    def turns(self, heif, tag_of=None, turned=(1,)):
        """By each orientation, and again by each: what stays, and how each picture lies. tag_of: metadata and what they are about."""
        data = bytes(heif)
        before, others = parsed(data)
        for first in TAGS:
            for second in ("none", "rot90", "flipv"):
                self.write("in.avif", data)
                for name in (first, second):
                    self.succeeds(*ARGUMENTS[name], "--overwrite", "-o", "out.avif", "in.avif")
                    os.replace(self.path("out.avif"), self.path("in.avif"))
                after, same = parsed(self.read("in.avif"))
                self.assertEqual(same, others)
                self.assertEqual(after.keys(), before.keys())
                for n, (bytes_before, kept, mark) in before.items():
                    want = turn(turn(mark, first), second) if n in turned else mark
                    self.assertEqual(after[n][1:], (kept, want), (n, first, second))
                    if n not in (tag_of or {}):
                        self.assertEqual(after[n][0], bytes_before, n)
                    elif first != "none" or second != "none":
                        said = before[tag_of[n]][2]
                        tag = 1 + [turn(MARK, t) for t in TAGS].index(turn(turn(said, first), second))
                        self.assertEqual(after[n][0], pngs.xmp(tag, True) if b"xmpmeta" in bytes_before else exif(tag, bytes_before[4:4 + bytes_before[3]]), n)
        self.write("in.avif", data)
        for _ in range(4):
            self.succeeds("--rotate", "90", "--in-place", "in.avif")
        self.assertEqual(parsed(self.read("in.avif"))[0].keys(), before.keys())
        return self.read("in.avif")

    def test_one_picture(self):
        for wide in (0, 1):
            for wide_ids in (0, 1):
                for properties, own in (([SIZE, AV1C], [1, 2 | E]), ([SIZE, AV1C, ROT], [1, 2 | E, 3 | E]), ([SIZE, AV1C, ROT, MIR], [1, 2 | E, 3 | E, 4 | E]),
                                        ([SIZE, AV1C, MIR, ROT], [1, 2 | E, 3 | E, 4 | E])):
                    heif = Heif({1: (b"av01", b"picture", own)}, properties, wide=wide, wide_ids=wide_ids, behind=b"behind all boxes")
                    after = self.turns(heif)
                    if len(properties) == 2:
                        self.assertEqual(after, bytes(heif))

    def test_places(self):
        """Numbers of each size, with a common part and without; data before the header, in it, and behind."""
        items = {1: (b"av01", b"picture", [1, 2 | E]), 2: (b"Exif", exif(1), []), 3: (b"mime", pngs.xmp(6, True), [])}
        about = [(b"cdsc", 2, [1]), (b"cdsc", 3, [1])]
        for sizes, base, in_meta in ((0x4400, 0, ()), (0x8800, 0, (2, 3)), (0x4440, 10, ()), (0x0840, "all", ()), (0x4480, "all", (3,)), (0x8440, 0, (1,))):
            for wide_ids in (0, 1):
                self.turns(Heif(items, [SIZE, AV1C], about, sizes=sizes, base=base, in_meta=in_meta, wide_ids=wide_ids, before=box(b"free", b"abc")), {2: 1, 3: 1})

    def test_what_belongs_to_a_picture(self):
        """A grid with its tiles, alpha, a thumbnail that lies otherwise, a second picture, and metadata of each."""
        items = {1: (b"grid", b"\0\0\0\1" + struct.pack(">HH", 60, 20), [4, 3 | E]), 2: (b"av01", b"left", [1, 2 | E]), 3: (b"av01", b"right", [1, 2 | E]),
                 4: (b"av01", b"alpha", [1, 2 | E, 3 | E]), 5: (b"av01", b"small", [1, 2 | E]), 6: (b"av01", b"second", [1, 2 | E, 5 | E]),
                 7: (b"Exif", exif(8, b"Exif\0\0"), []), 8: (b"Exif", exif(3), []), 9: (b"mime", b"<x/>", [])}
        references = [(b"dimg", 1, [2, 3]), (b"auxl", 4, [1]), (b"thmb", 5, [1]), (b"cdsc", 7, [1]), (b"cdsc", 8, [6])]
        wide = full(b"ispe", 0, 0, struct.pack(">II", 60, 20))
        self.turns(Heif(items, [SIZE, AV1C, ROT, wide, MIR], references, in_meta=(1,), hidden=(2, 3)), {7: 1, 8: 6}, (1, 4, 5, 6))

    def test_many_properties(self):
        """More than fit into seven bits."""
        more = [box(b"free", bytes([i])) for i in range(124)]
        self.turns(Heif({1: (b"av01", b"picture", [1, 2 | E, 90])}, [SIZE, AV1C, *more]))

    def test_sizes(self):
        for properties, size in (([1, 2 | E], "30 x 20"), ([1, 2 | E, 3 | E], "20 x 30")):
            self.write("in.avif", bytes(Heif({1: (b"av01", b"picture", properties)}, [SIZE, AV1C, ROT])))
            result = self.run_command("-v", "--rotate", "90", "--overwrite", "-o", "out.avif", "in.avif")
            self.assertIn(size.encode(), result.stderr)

    def test_what_a_header_cannot_tell(self):
        """Is left to a decoder, which does not know this picture."""
        said, items = exif(6), {1: (b"av01", b"picture", [1, 2 | E]), 2: (b"Exif", exif(6), [])}
        data = bytes(Heif(items, [SIZE, AV1C], [(b"cdsc", 2, [1])], in_meta=(2,)))
        place = lambda method, at, size: struct.pack(">HHHHII", 2, method, 0, 1, at, size)
        before = place(1, 0, len(said))
        self.assertEqual(data.count(before), 1)
        for after in (place(0, data.index(said), len(said)),  # in the header, by its place in the file
                      place(0, data.index(b"picture") - 100, 101), place(0, data.index(b"picture"), 7),  # a part of others
                      place(1, 0, 0), place(0, len(data), 0)):  # up to the end
            self.write("in.avif", data.replace(before, after))
            self.fails(1, "-q", "--rotate", "90", "-o", "out.avif", "in.avif", says=("in.avif: ",))
        overlay = {1: (b"iovl", b"\0" * 12, [1]), 2: (b"av01", b"left", [1, 2 | E]), 3: (b"av01", b"right", [1, 2 | E])}
        for hidden, whole, turns in (((2, 3), b"iovl", True), ((2,), b"iovl", False), ((), b"grid", True)):
            overlay[1] = (whole, *overlay[1][1:])
            self.write("in.avif", bytes(Heif(overlay, [SIZE, AV1C], [(b"dimg", 1, [2, 3])], hidden=hidden)))
            arguments = ("-q", "--rotate", "90", "--overwrite", "-o", "out.avif", "in.avif")
            self.succeeds(*arguments) if turns else self.fails(1, *arguments)

    def test_sizes_of_a_part(self):
        part = box(b"clap", struct.pack(">8I", 8, 2, 5, 1, 0, 1, 0, 1))
        self.write("in.avif", bytes(Heif({1: (b"av01", b"picture", [1, 2 | E, 3 | E])}, [SIZE, AV1C, part])))
        result = self.run_command("-v", "--rotate", "90", "-o", "out.avif", "in.avif")
        self.assertIn(b"4 x 5", result.stderr)

    def test_refusals(self):
        good = bytes(Heif({1: (b"av01", b"picture", [1, 2 | E]), 2: (b"av01", b"p" * 100, [1, 2 | E])}, [SIZE, AV1C]))
        for size in range(len(good) - 107, len(good)):
            self.write("in.avif", good[:size])
            self.fails(1, "--rotate", "90", "-o", "out.avif", "in.avif", says=("in.avif: is cut short: restore it from a copy",))
        self.write("in.avif", good)
        self.fails(1, "--rotate", "90", "--max-pixels", "1199", "-o", "out.avif", "in.avif", says=("in.avif: ",))
        self.succeeds("--rotate", "90", "--max-pixels", "1200", "-o", "out.avif", "in.avif")
        os.remove(self.path("out.avif"))
        strange = [(b"tmap", b"", [1])], [(b"iden", b"", [1])]
        for extra in strange:  # left to a decoder, which does not know what this is
            self.write("in.avif", bytes(Heif({1: (b"av01", b"picture", [1, 2 | E]), **dict(enumerate(extra, 2))}, [SIZE, AV1C], [(b"dimg", 2, [1])])))
            self.fails(1, "-q", "--rotate", "90", "-o", "out.avif", "in.avif", says=("in.avif: ",))
        stray = bytes(Heif({1: (b"av01", b"picture", [1, 2 | E]), 2: (b"av01", b"second", [1, 2 | E])}, [SIZE, AV1C]))
        at = stray.index(b"\0\2\2\1\x82")  # of an item that is not there, a property that is not there
        self.write("in.avif", stray[:at] + b"\0\7\2\1\xff" + stray[at + 5:])
        self.fails(1, "-q", "--rotate", "90", "-o", "out.avif", "in.avif", says=("in.avif: ",))
        for at in range(32, len(good) - 107):  # nor does damage end in anything but a line, or a file
            self.write("in.avif", good[:at] + bytes([good[at] ^ 0xff]) + good[at + 1:])
            if at % 5 == 0:
                result = self.run_command("-q", "--rotate", "90", "--overwrite", "-o", "out.avif", "in.avif")
                self.assertEqual((result.returncode, result.stderr.count(b"\n")) in ((0, 0), (1, 1)), True, (at, result.stderr))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
