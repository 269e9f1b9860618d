# SPDX-License-Identifier: MIT
"""PNGs made byte by byte, for tests that need an odd one. Standard library only."""
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def chunk(kind, data=b"", crc=None):
    crc = zlib.crc32(kind + data) if crc is None else crc
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)


def header(width, height, depth=8, colour=2, interlace=0):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))


def rows(width, height, depth=8, colour=2):
    """Filter bytes and samples; neighbours differ."""
    out = bytearray()
    for y in range(height):
        bits = "".join(format((x * 37 + y * 101 + c * 59 + 1) * 257 % (1 << depth), f"0{depth}b")
                       for x in range(width) for c in range(CHANNELS[colour]))
        bits += "0" * (-len(bits) % 8)
        out += b"\0" + int(bits, 2).to_bytes(len(bits) // 8, "big")
    return bytes(out)


def png(width, height, depth=8, colour=2, before=b"", after=b"", stream=None):
    """before: chunks between header and pixels (after the palette), after: behind the pixels."""
    palette = chunk(b"PLTE", bytes(i * k % 256 for i in range(1 << depth) for k in (7, 31, 101))) if colour == 3 else b""
    stream = zlib.compress(rows(width, height, depth, colour)) if stream is None else stream
    return (SIGNATURE + header(width, height, depth, colour) + palette + before + chunk(b"IDAT", stream) + after
            + chunk(b"IEND"))


def chunks(data):
    """[(type, data)] of a PNG, its pixels as one IDAT."""
    assert data[:8] == SIGNATURE
    found, at = [], 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body), kind
        at += 12 + size
        if kind == b"IDAT" and found and found[-1][0] == b"IDAT":
            found[-1] = (kind, found[-1][1] + body)
        else:
            found.append((kind, body))
    return found


def exif(orientation, order=">"):
    """A TIFF block with an orientation and a neighbour on each side."""
    entries = [(0x10f, 2, 3, b"me\0\0"), (0x112, 3, 1, struct.pack(order + "HH", orientation, 0)),
               (0x132, 2, 3, b"it\0\0")]
    mark = b"MM\0*" if order == ">" else b"II*\0"
    return (mark + struct.pack(order + "IH", 8, len(entries))
            + b"".join(struct.pack(order + "HHI", tag, kind, n) + value for tag, kind, n, value in entries) + b"\0" * 4)


def xmp(orientation, attribute):
    tag = (f' tiff:Orientation="{orientation}"/>' if attribute
           else f"><tiff:Orientation>{orientation}</tiff:Orientation></rdf:Description>")
    return ('<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
            f'<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/"{tag}</rdf:RDF></x:xmpmeta>').encode()


def raw_profile(orientation):
    block = b"Exif\0\0" + exif(orientation)
    digits = block.hex()
    lines = "\n".join(digits[i:i + 72] for i in range(0, len(digits), 72))
    return f"\nexif\n{len(block):8d}\n{lines}\n".encode()
