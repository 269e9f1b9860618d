#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The README's charts, from the lines of JSON that the benchmarks wrote.

    charts.py             writes the charts beside this file
    charts.py --check     1 if one of them is not what the data make of it now
    charts.py --markdown  prints the same figures as tables

Every axis begins at zero. The data are in ../cpu/xeon and ../gpu/h200; ../cpu/run.sh and ../gpu/run.sh measure them anew.
"""
import json
import os
import re
import sys
from xml.sax.saxutils import escape

HERE = os.path.dirname(os.path.abspath(__file__))
CPU, GPU = os.path.join(HERE, "../cpu/xeon"), os.path.join(HERE, "../gpu/h200")

# Colours that stay apart for the colour-blind (Okabe and Ito), each on a light ground and on a dark one.
COLOURS = {"ours": ("#0b3c6f", "#e6edf3"), "orange": ("#e69f00", "#e69f00"), "green": ("#009e73", "#00b583"),
           "pink": ("#cc79a7", "#cc79a7"), "red": ("#d55e00", "#e8702a"), "sky": ("#56b4e9", "#56b4e9"), "grey": ("#8c8c8c", "#8c8c8c")}
SWAPPING = ("transpose", "rot90", "transverse", "rot270")
CASES = {"u8": 1, "u16": 2, "rgb8": 3, "f32": 4, "rgb16": 6, "f64": 8, "rgbf32": 12, "rgbaf32": 16}
SHAPES = {"aligned": "sides of whole cache lines", "odd": "odd sides"}


def lines(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# ---- What was measured ---------------------------------------------------------------------------------------------


def shares_on_cpu():
    """{(who, case, shape): share of the fastest copy}, of the largest pictures; who was asked; and a caption.

    The fastest copy is memcpy's, or one past the cache, or the library's own, by all cores.
    """
    machine, *turns = lines(CPU, "bench.jsonl")
    about, *peers = lines(CPU, "peers.jsonl")
    shares, largest, cores = {}, {}, machine["processors"]
    for row in turns:
        largest[row["case"]] = max(largest.get(row["case"], 0), row["width"] * row["height"])
    far = [row for row in turns if row["width"] * row["height"] * 1.1 > largest[row["case"]] and row["threads"] == cores]
    limit = {case: max(row["gb_per_s"] * max(1 / row["of_copy"], row["orientation"] == "none") for row in far if row["case"] == case) for case in largest}
    for row in far:
        shape = "odd" if row["width"] % 64 else "aligned" if row["width"] & (row["width"] - 1) else None  # or a power of two
        if shape and row["orientation"] in SWAPPING:
            key = "imgtranspose", row["case"], shape
            shares[key] = min(shares.get(key, 9), row["gb_per_s"] / limit[row["case"]])
    for row in peers:
        if row["what"] != "copy":
            shares[row["what"], row["case"], row["shape"]] = row["of_copy"]
    megabytes = round(max(row["width"] * row["height"] * CASES.get(row["case"], 4) for row in far) / 2**20)
    versions = ", ".join(f"{name} {version}" for name, version in about["peers"].items())
    turned = ("a quarter turn" if not any(row["orientation"] in SWAPPING and row["orientation"] != "rot90" for row in far) else
              "the slowest of the four turns that exchange rows and columns (peers: a quarter turn)")
    model = machine["machine"].replace("(R)", "")
    caption = [f"{model}, {cores} cores; imgtranspose {machine['version']} by all of them; {versions} by one core",
               f"{turned[0].upper()}{turned[1:]}, pictures of {megabytes} MiB; peers against NumPy's copies in their own run"]
    return shares, {"imgtranspose": "ours", "OpenCV": "orange", "Pillow": "pink", "NumPy": "green"}, caption


def shares_on_gpu():
    about, *turns = lines(GPU, "bench.jsonl")
    shares, who = {}, {"tiletranspose": "ours", "cuBLAS geam": "orange", "NPP": "green", "textbook tile": "pink", "torch.compile": "red",
                       "torch eager": "sky", "jax": "grey"}
    copies = {}
    for row in turns:
        if row.get("of_copy") == 1:
            copies[row["case"]] = row["gb_per_s"]
    for row in turns + lines(GPU, "peers.jsonl"):
        case, _, shape = row["case"].partition(" ") if "case" in row else ("", "", "")
        if row.get("what") in who and shape in SHAPES and row["orientation"] in SWAPPING:
            key = row["what"], case, shape
            shares[key] = min(shares.get(key, 9), row.get("of_copy") or row["gb_per_s"] / copies[row["case"]])
    caption = [f"{about['about'].split(',')[0]}, pictures of 1.7 GB; tiletranspose {about['library']}",
               "The slowest of the four turns that exchange rows and columns (peers: a transposition)"]
    return shares, who, caption


def files():
    """[(format, [row a tool])] and a caption."""
    about, *rows = lines(CPU, "files.jsonl")
    machine = lines(CPU, "bench.jsonl")[0]
    formats = {}
    for row in rows:
        formats.setdefault(row["format"], []).append(row)
    short = {row["tool"]: re.sub(r"^Version: |^imgtranspose |-Q16.*| Q16.*|^libjpeg-turbo version | \(build.*|^vips-|^cp .*", "", row["version"]) for row in rows}
    versions = [f"imgtranspose {short['imgtranspose']}", f"libvips {short['vips rot']}"]
    versions += [short["convert"]] if "convert" in short else []
    versions += [f"jpegtran {short['jpegtran']}"] if "jpegtran" in short else []
    model = machine["machine"].replace("(R)", "")
    return list(formats.items()), [f"{about['about'][0].upper()}{about['about'][1:]}", f"{model}, {about['processors']} cores; " + ", ".join(versions)]


# ---- Drawing -------------------------------------------------------------------------------------------------------


class Drawing:
    def __init__(self, width, height, title, caption):
        self.width, self.height, self.title, self.body = width, height, title, []
        self.text(16, 28, title, "title")
        for i, line in enumerate(caption):
            self.text(16, 47 + 16 * i, line, "soft")

    def text(self, x, y, text, kind="", anchor="start"):
        names = f' class="{kind}"' if kind else ""
        where = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.body.append(f'<text x="{x:g}" y="{y:g}"{names}{where}>{escape(text)}</text>')

    def box(self, x, y, width, height, colour):
        self.body.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{colour}"/>')

    def line(self, x1, y1, x2, y2, kind="grid"):
        self.body.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{kind}"/>')

    def legend(self, x, y, entries):
        for label, colour in entries.items():
            self.box(x, y - 10, 11, 11, colour)
            self.text(x + 16, y, label)
            x += 36 + sum(3.8 if c in "fijlrt.,: " else 8.4 if c.isupper() else 7.2 for c in label)

    def svg(self):
        def theme(i, ground, ink, soft, grid):
            fills = "".join(f".{name}{{fill:{pair[i]}}}" for name, pair in COLOURS.items())
            return f".ground{{fill:{ground}}}text{{fill:{ink}}}.soft{{fill:{soft}}}.grid{{stroke:{grid}}}.axis{{stroke:{soft}}}{fills}"

        style = ("text{font:12px -apple-system,'Segoe UI','Noto Sans','DejaVu Sans',Helvetica,Arial,sans-serif}"
                 ".title{font-size:16px;font-weight:600}.name{font-weight:600}.soft,.small{font-size:11px}.grid,.axis{stroke-width:1}"
                 + theme(0, "#ffffff", "#1f2328", "#59636e", "#d8dee4")
                 + "@media(prefers-color-scheme:dark){" + theme(1, "#0d1117", "#e6edf3", "#9198a1", "#30363d") + "}")
        return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}" role="img">',
                          "<!-- made by tests/bench/charts/charts.py -->", f"<title>{escape(self.title)}</title>", f"<style>{style}</style>",
                          f'<rect width="{self.width}" height="{self.height}" rx="6" class="ground"/>', *self.body, "</svg>", ""])


def chart_of_shares(title, shares, who, caption):
    """A panel a shape, a group of columns a pixel size: a broad one for the library, narrow ones beside it."""
    cases = [case for case in CASES if any(key[1] == case for key in shares)]
    broad, narrow, left, panel = 22, 9, 52, 170
    group = (880 - left - 16) / len(cases)
    drawing = Drawing(880, 110 + len(SHAPES) * (panel + 62), title, caption)
    drawing.legend(left, 90, who)
    for i, (shape, words) in enumerate(SHAPES.items()):
        top = 128 + i * (panel + 62)
        bottom = top + panel
        highest = max(1.0, max(value for key, value in shares.items() if key[2] == shape))
        drawing.text(left, top - 10, words, "soft")
        for tick in range(0, int(highest * 4) + 1):
            y = bottom - panel * tick / 4 / highest
            drawing.line(left, y, 864, y, "grid" if tick else "axis")
            drawing.text(left - 8, y + 4, "a copy" if tick == 4 else f"{tick / 4:g}", "soft", "end")
        for g, case in enumerate(cases):
            x = left + g * group + (group - broad - narrow * (len(who) - 1)) / 2
            drawing.text(left + (g + 0.5) * group, bottom + 17, f"{CASES[case]} byte{'s' if CASES[case] > 1 else ''}", "", "middle")
            drawing.text(left + (g + 0.5) * group, bottom + 31, case, "soft", "middle")
            for name, colour in who.items():
                value, width = shares.get((name, case, shape)), broad if colour == "ours" else narrow
                if value is not None:
                    drawing.box(x, bottom - panel * value / highest, width - 1, panel * value / highest, colour)
                x += width
            if (value := shares.get((next(iter(who)), case, shape))) is not None:
                middle = left + g * group + (group - narrow * (len(who) - 1)) / 2
                drawing.text(middle, bottom - panel * value / highest - 4, f"{value:.2f}", "small", "middle")
    return drawing.svg()


def step_for(most):
    """Between ticks, so that there are three to six."""
    return next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if most / step <= 5)


STAGES = {"decode": "sky", "turn": "red", "encode": "ours", "all": "grey"}


def chart_of_files(title, formats, caption):
    """A panel a format with an axis of its own; a bar a tool, in stages."""
    width, row, left = 432, 24, 124
    heights = [60 + row * len(rows) for _, rows in formats]
    rows_of_panels = [max(heights[i : i + 2]) for i in range(0, len(heights), 2)]
    drawing = Drawing(880, 108 + sum(rows_of_panels), title, caption)
    drawing.legend(16, 88, {"decode": "sky", "turn, start and all else": "red", "encode": "ours", "not told apart": "grey"})
    drawing.text(864, 88, "seconds of CPU, in brackets by the clock", "soft", "end")
    top = 120
    for i, (kind, rows) in enumerate(formats):
        x0, bottom = (i % 2) * width + left, top + 12 + row * len(rows)
        most = max(line["cpu"] for line in rows) * 1.02
        scale = (width - left - 100) / most
        drawing.text(x0, top, kind, "name")
        step = step_for(most)
        for tick in range(int(most / step) + 1):
            x = x0 + tick * step * scale
            drawing.line(x, top + 8, x, bottom, "grid" if tick else "axis")
            drawing.text(x, bottom + 15, f"{tick * step:g}", "soft", "middle")
        for n, line in enumerate(rows):
            y, x = top + 14 + n * row, x0
            drawing.text(x0 - 8, y + 13, line["tool"], "", "end")
            for stage, colour in STAGES.items():
                length = line["stages"].get(stage, 0) / sum(line["stages"].values()) * line["cpu"] * scale
                if length:
                    drawing.box(x, y, length, row - 8, colour)
                x += length
            drawing.text(x + 6, y + 13, f"{line['cpu']:.2f} ({line['clock']:.2f})", "small")
        if i % 2 or i == len(formats) - 1:
            top += rows_of_panels[i // 2]
    return drawing.svg()


def charts():
    return {"cpu.svg": chart_of_shares("Quarter turns of pixels in memory, as a share of the fastest copy's speed", *shares_on_cpu()),
            "h200.svg": chart_of_shares("Quarter turns of pixels in a GPU's memory, as a share of a copy's speed", *shares_on_gpu()),
            "files.svg": chart_of_files("A quarter turn from file to file", *files())}


# ---- The same as tables ----------------------------------------------------------------------------------------------


def table(heads, rows):
    return "\n".join(["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *("| " + " | ".join(row) + " |" for row in rows), ""])


def markdown():
    for shares, who, caption in (shares_on_cpu(), shares_on_gpu()):
        print("\n".join(caption) + "\n")
        for shape in SHAPES:
            cases = [case for case in CASES if any(key[1:] == (case, shape) for key in shares)]
            print(table([f"bytes a pixel, {SHAPES[shape]}", *(str(CASES[case]) for case in cases)],
                        [[name, *(f"{shares[name, case, shape]:.2f}" if (name, case, shape) in shares else "" for case in cases)] for name in who]))
    formats, caption = files()
    print("\n".join(caption) + "\n")
    print(table(["format", "tool", "seconds of CPU", "by the clock", "MB"],
                [[kind, row["tool"], f"{row['cpu']:.2f}", f"{row['clock']:.2f}", f"{row['bytes'] / 1e6:.1f}"] for kind, rows in formats for row in rows]))


def main():
    if sys.argv[1:] == ["--markdown"]:
        return markdown()
    stale = 0
    for name, text in charts().items():
        path = os.path.join(HERE, name)
        if sys.argv[1:] == ["--check"]:
            if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
                print(f"{path} is not what the data make of it: run {os.path.relpath(__file__)}")
                stale = 1
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    return stale


sys.exit(main())
