# SPDX-License-Identifier: MIT
"""TIFFs written and read by their specification: directories, nested ones, and pixels that are bare or deflated."""
import struct
import zlib

SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
CODES = {1: "B", 2: "B", 3: "H", 4: "I", 5: "I", 6: "b", 7: "B", 8: "h", 9: "i", 10: "i", 11: "f", 12: "d", 13: "I", 16: "Q", 17: "q", 18: "Q"}
SHORT, LONG, RATIONAL, IFD = 3, 4, 5, 13
OFFSETS = (273, 324, 330, 34665, 34853, 40965)


def pack_rows(rows, bits, order="<"):
    """Rows of pixels, which are tuples of samples, as bytes; each row starts on one."""
    out = []
    for row in rows:
        samples = [sample for pixel in row for sample in pixel]
        if bits in (8, 16, 32, 64):
            out.append(struct.pack(f"{order}{len(samples)}{ {8: 'B', 16: 'H', 32: 'I', 64: 'Q'}[bits]}", *samples))
            continue
        text = "".join(format(sample, f"0{bits}b") for sample in samples)
        text += "0" * (-len(text) % 8)
        out.append(int(text, 2).to_bytes(len(text) // 8, "big"))
    return b"".join(out)


def unpack_rows(data, width, height, channels, bits, order="<"):
    rows, size = [], (width * channels * bits + 7) // 8
    for y in range(height):
        row = data[y * size:(y + 1) * size]
        if bits in (8, 16, 32, 64):
            samples = struct.unpack(f"{order}{width * channels}{ {8: 'B', 16: 'H', 32: 'I', 64: 'Q'}[bits]}", row)
        else:
            text = format(int.from_bytes(row, "big"), f"0{8 * size}b")
            samples = [int(text[i * bits:(i + 1) * bits], 2) for i in range(width * channels)]
        rows.append([tuple(samples[i * channels:(i + 1) * channels]) for i in range(width)])
    return rows


class Page:
    """tags: {tag: (type, values)}; blocks: the bytes of each strip or tile; nested: {tag: [Page]}."""

    def __init__(self, tags, blocks=(), nested=None, order="<", at=0):
        self.tags, self.blocks, self.nested, self.order, self.at = tags, list(blocks), nested or {}, order, at

    def value(self, tag, otherwise=None):
        return self.tags[tag][1][0] if tag in self.tags else otherwise

    def beside(self, *without):
        """All tags but those of geometry and of places in the file."""
        return {tag: value for tag, value in self.tags.items() if tag not in (273, 279, 278, 324, 325, 330, 34665, 34853, 40965, *without)}


def picture(rows, bits, order="<", strip=None, tile=None, planar=False, deflate=False, extra=None, nested=None):
    """A page of rows of pixels."""
    height, width, channels = len(rows), len(rows[0]), len(rows[0][0])
    planes = [[[(pixel[c],) for pixel in row] for row in rows] for c in range(channels)] if planar else [rows]
    blocks = []
    for plane in planes:
        if tile:
            empty = (0,) * len(plane[0][0])
            for top in range(0, height, tile[1]):
                for left in range(0, width, tile[0]):
                    part = [(row[left:left + tile[0]] + [empty] * tile[0])[:tile[0]] for row in plane[top:top + tile[1]]]
                    part += [[empty] * tile[0]] * (tile[1] - len(part))
                    blocks.append(pack_rows(part, bits, order))
        else:
            for top in range(0, height, strip or height):
                blocks.append(pack_rows(plane[top:top + (strip or height)], bits, order))
    if deflate:
        blocks = [zlib.compress(block) for block in blocks]
    tags = {256: (LONG, [width]), 257: (LONG, [height]), 258: (SHORT, [bits] * channels), 259: (SHORT, [8 if deflate else 1]),
            262: (SHORT, [2 if channels >= 3 else 1]), 277: (SHORT, [channels]), 284: (SHORT, [2 if planar else 1])}
    if channels == 2 or channels > 3:
        tags[338] = (SHORT, [0] * (channels - (3 if channels > 3 else 1)))
    if tile:
        tags.update({322: (SHORT, [tile[0]]), 323: (SHORT, [tile[1]])})
    elif strip:
        tags[278] = (SHORT, [strip])
    tags.update(extra or {})
    return Page(tags, blocks, nested, order)


def write(pages, order="<", big=False):
    data = bytearray((b"II" if order == "<" else b"MM") + struct.pack(order + ("HHHQ" if big else "HI"), *((43, 8, 0, 0) if big else (42, 0))))
    offset, room = ("Q", 8) if big else ("I", 4)

    def put(page):
        tags = dict(page.tags)
        if page.blocks:
            starts = []
            for block in page.blocks:
                data.extend(bytes(len(data) % 2))
                starts.append(0 if block is None else len(data))
                data.extend(block or b"")
            tiled = 322 in tags
            tags[324 if tiled else 273] = (16 if big else LONG, starts)
            tags[325 if tiled else 279] = (LONG, [len(block or b"") for block in page.blocks])
        for tag, inner in page.nested.items():
            tags[tag] = (16 if big else LONG, [put(one)[0] for one in inner])
        entries = b""
        for tag, (kind, values) in sorted(tags.items()):
            raw = values if isinstance(values, bytes) else struct.pack(f"{order}{len(values)}{CODES[kind]}", *values)
            count = len(raw) // SIZES[kind]
            if len(raw) > room:
                data.extend(bytes(len(data) % 2))
                where = struct.pack(order + offset, len(data))
                data.extend(raw)
            else:
                where = raw.ljust(room, b"\0")
            entries += struct.pack(order + "HH" + offset, tag, kind, count) + where
        data.extend(bytes(len(data) % 2))
        at = len(data)
        data.extend(struct.pack(order + ("Q" if big else "H"), len(tags)) + entries + bytes(room))
        return at, len(data) - room

    link = 8 if big else 4
    for page in pages:
        at, following = put(page)
        data[link:link + room] = struct.pack(order + offset, at)
        link = following
    return bytes(data)


def read(data):
    """All pages. Whatever is out of order is an AssertionError or struct.error."""
    order = {b"II": "<", b"MM": ">"}[bytes(data[:2])]
    big = struct.unpack(order + "H", data[2:4])[0] == 43
    offset, room = ("Q", 8) if big else ("I", 4)

    def page_at(at):
        assert at % 2 == 0 and at, at
        head = 8 if big else 2
        n = struct.unpack(order + ("Q" if big else "H"), data[at:at + head])[0]
        tags, last = {}, -1
        for i in range(n):
            entry = at + head + i * (4 + 2 * room)
            tag, kind, count = struct.unpack(order + "HH" + offset, data[entry:entry + 4 + room])
            assert tag > last, (tag, last)
            last = tag
            size = SIZES[kind] * count
            where = entry + 4 + room
            if size > room:
                where = struct.unpack(order + offset, data[where:where + room])[0]
                assert where % 2 == 0
            raw = data[where:where + size]
            assert len(raw) == size
            tags[tag] = (kind, list(struct.unpack(f"{order}{size // struct.calcsize(order + CODES[kind])}{CODES[kind]}", raw)))
        following = at + head + n * (4 + 2 * room)
        tiled = 322 in tags
        starts, lengths = (tags.get(tag, (0, []))[1] for tag in ((324, 325) if tiled else (273, 279)))
        blocks = [data[start:start + length] for start, length in zip(starts, lengths)]
        nested = {tag: [page_at(one)[0] for one in tags[tag][1]] for tag in (330, 34665, 34853, 40965) if tag in tags}
        return Page(tags, blocks, nested, order, at), struct.unpack(order + offset, data[following:following + room])[0]

    pages, at = [], struct.unpack(order + offset, data[8:16] if big else data[4:8])[0]
    while at:
        page, at = page_at(at)
        pages.append(page)
    return pages


def pixels(page, empty=None):
    """Rows of pixels of a page that is bare or deflated without predictor; empty: a sample of blocks that are not there."""
    width, height, channels = page.value(256), page.value(257), page.value(277, 1)
    bits = page.value(258, 1)
    planes = channels if page.value(284, 1) == 2 and channels > 1 else 1
    samples = 1 if planes > 1 else channels
    compression = page.value(259, 1)
    assert compression in (1, 8, 32946) and page.value(317, 1) == 1, compression
    blocks = [zlib.decompress(block) if compression != 1 and block else block for block in page.blocks]
    block_width, block_height = page.value(322, width), page.value(323, min(page.value(278, height), height))
    across, down = -(-width // block_width), -(-height // block_height)
    assert len(blocks) == across * down * planes, (len(blocks), across, down, planes)
    found = []
    for plane in range(planes):
        rows = [[None] * width for _ in range(height)]
        for i in range(across * down):
            left, top = i % across * block_width, i // across * block_height
            tall = block_height if 322 in page.tags else min(block_height, height - top)
            block = blocks[plane * across * down + i]
            part = [[(empty,) * samples] * block_width] * tall
            if block or empty is None:
                part = unpack_rows(block, block_width, tall, samples, bits, page.order)
            for y in range(min(tall, height - top)):
                rows[top + y][left:left + block_width] = part[y][:width - left]
        found.append(rows)
    return [[sum((found[plane][y][x] for plane in range(planes)), ()) for x in range(width)] for y in range(height)]
