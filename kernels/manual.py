#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Manual pages of the library, from the prose of its headers, so that the two cannot differ.

    manual.py --list HEADER...        the names of the pages, and of the functions and types that lead to them
    manual.py FOLDER HEADER...        writes them all

A section of a header, /* ---- Title ---- */, is a page, with the comments and declarations up to the next. The text
before the first section is the page of the whole header, or joins that of its first section. In a comment, lines indented
by four are code (an example, if there is a statement in it) or a picture; "Word   text" is an item of a list.
"""
import os
import re
import sys
import textwrap

WIDTH = 68  # of code, which is indented: a page is read at 80 columns
DATE = "November 30, 2026"

# Every section must be here: its page, what the page is about, and whether what stands before it in its header joins it.
PAGES = {
    "Errors": ("tt_last_error", "what went wrong in libtiletranspose", False),
    "Orientations": ("tt_orientation", "the eight orientations of an image, and their algebra", False),
    "Images": ("tt_image", "pixels in memory, and rectangles of them", False),
    "Backends": ("tt_backend", "which code moves the pixels", False),
    "The turn": ("tt_orient", "turn an image in memory", False),
    "Pixels on a GPU": ("tt_orient_async", "turn images in the memory of a GPU, on a stream", False),
    "The frame": ("tt_frame", "a picture that arrives in pieces and leaves turned", True),
    "The plan": ("tt_plan", "cut a turn into pieces that fit a memory limit", False),
    "What is refused": ("tt_dlpack", "tensors of other libraries as images", True),
}
WHOLE = ("tiletranspose", "turn images exactly", False)
INTERNAL = "How"  # a section of what a header needs but does not offer


class Item:
    """A comment and the declarations that it is about; either may be empty."""

    def __init__(self, comment, code):
        self.comment, self.code = comment, code

    def functions(self):
        """[(type, name, [argument])]"""
        found = []
        if not self.code.startswith("typedef"):
            code = re.sub(r"\)\s*\{.*?^\}", ");", self.code, flags=re.S | re.M)  # the body of an inline one
            for kind, name, arguments in re.findall(r"^((?:\w+ )+\**)(\w+)\(([^;]*)\);", code, flags=re.M):
                kind = re.sub(r"^(TT_API|static inline) ", "", kind).strip()
                found.append((kind, name, [re.sub(r"\s+", " ", argument).strip() for argument in arguments.split(",")]))
        return found

    def types(self):
        names = re.findall(r"\} (\w+);|^typedef [\w ]*?[ *](\w+);$", self.code, flags=re.M)
        return [name or other for name, other in names] if self.code.startswith("typedef") else []


def chunks(text):
    """The header's comments and pieces of code, in order, without what is for the preprocessor alone."""
    text = re.sub(r"^#ifndef DLPACK_DLPACK_H_.*?^#endif$", "", text, flags=re.S | re.M)  # which are not ours to describe
    text = re.sub(r'^#ifdef __cplusplus.*?^#endif$', "", text, flags=re.S | re.M)
    text = re.sub(r"^#.*(\\\n.*)*$", "", text, flags=re.M)
    while text := text.strip("\n"):
        comment = re.match(r"/\*.*?\*/", text, flags=re.S)
        piece = comment.group(0) if comment else re.match(r"(?:.+\n?(?:(?<=\{\n)(?:.*\n)*?\}.*\n?)?)+?(?=\n|\Z|/\*)", text + "\n").group(0)
        yield bool(comment), piece.rstrip()
        text = text[len(piece) :]


def lines_of(comment):
    inside = re.sub(r"^/\*|\*/$", "", comment).split("\n")
    return [re.sub(r"^ \* ?", "", line).rstrip() if i else line.strip() for i, line in enumerate(inside)]


def parse(path):
    """{title or "": [Item]}"""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    sections, title, comment = {"": []}, "", []

    def flush(code=""):
        nonlocal comment
        if comment or code:
            sections[title].append(Item(comment, code))
        comment = []

    for is_comment, piece in chunks(text):
        banner = re.match(r"/\* ---- (.+?) -{3,}", piece)
        if banner:
            flush()
            title = banner.group(1)
            sections[title] = []
            comment = lines_of(re.sub(r"^/\* ---- .+? -{3,}\s*(\n|(?=\*/))", "/*\n", piece))[1:]
            comment = comment if any(comment) else []
        elif is_comment:
            flush()
            comment = [line for line in lines_of(piece) if not line.startswith("SPDX-License-Identifier")]
        else:
            flush(piece)
    flush()
    sections.pop(INTERNAL, None)
    return sections


# ---- mdoc ------------------------------------------------------------------------------------------------------------


def escaped(text):
    text = text.replace("\\", "\\e")
    return "\\&" + text if text[:1] in (".", "'") else text


def sentences(text):
    """A line a sentence, as mdoc wants them, with functions in bold."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"(?<=[.:?!])(?<!\.\.\.) (?=[A-Z(])", "\n", text)
    return "\n".join(re.sub(r"\b(tt_\w+)\(\)", r"\\fB\1\\fP()", escaped(line)) for line in text.split("\n"))


def literal(lines):
    return "\n".join([".Bd -literal -offset 4n", *(escaped(line) for line in lines), ".Ed"])


def narrow(code):
    """The declaration of a type for 80 columns: comments that reach further stand above their member."""
    code = re.sub(r"/\*.*?\*/", lambda comment: re.sub(r"\s*\n\s*(\* )?", " ", comment.group(0)), code, flags=re.S)
    if "\n" not in code and len(code) > WIDTH:
        code = re.sub(r"([{,]) ", r"\1\n    ", code).replace(" }", "\n}")
    out = []
    for line in code.split("\n"):
        indent, member, words = re.match(r"(\s*)(.*?)\s*(?:/\* (.*) \*/)?$", line).groups()
        if len(line) > WIDTH and words:
            wrapped = textwrap.wrap(words, WIDTH - len(indent) - 6)
            out += [f"{indent}{' *' if i else '/*'} {text}" for i, text in enumerate(wrapped)]
            out[-1] += " */"
            line = indent + member if member else None
        out += [line] if line else []
    return out


def is_code(block):
    return any(line.endswith(";") for line in block)


def prose(lines):
    """mdoc of a comment, and the examples that are in it."""
    out, examples, item, at = [], [], False, 0
    while at < len(lines):
        label = re.match(r"([A-Z][a-z]+(?: [a-z]+)?) {2,}(\S.*)$", lines[at])
        end = at + 1
        if not lines[at].strip():
            if out and any(lines[at:]) and not item:
                out.append(".Pp")
        elif lines[at].startswith("    ") and not item:
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end]):
                end += 1
            block = "\n".join(line[4:] for line in lines[at:end]).rstrip().split("\n")
            if is_code(block):
                examples.append(block)
            else:
                out.append(literal(block))
        else:
            bullet = re.match(r"  - (.*)$", lines[at])
            text = [label.group(2) if label else bullet.group(1) if bullet else lines[at]]
            while end < len(lines) and lines[end] and not re.match(r"  - |[A-Z][a-z]+(?: [a-z]+)? {2,}\S", lines[end]) and (
                    lines[end].startswith("    ") if bullet else label or item or not lines[end].startswith("    ")):
                text.append(lines[end])
                end += 1
            if label and not item:
                out.append(".Bl -tag -width Ds")
            elif bullet and not item:
                out.append(".Bl -dash")
            elif item and not label and not bullet:
                out += [".El", ".Pp"]
            item = bool(label or bullet)
            out.append((f".It {label.group(1)}\n" if label else ".It\n" if bullet else "") + sentences(" ".join(text)))
        at = end
    return "\n".join(out + [".El"] * item), examples


def synopsis(function):
    kind, name, arguments = function
    return "\n".join([f".Ft {kind}", " ".join([f".Fn {name}", *(f'"{argument}"' for argument in arguments)])])


def tidy(text):
    """No space that mdoc makes of itself: before a list, a block or a heading, and after a heading."""
    text = re.sub(r"(?:^\.Pp\n)+(?=\.(?:Pp|Sh|Ss|Bl|Bd))", "", text, flags=re.M)
    return re.sub(r"(^\.S[hs] .*\n)(?:\.Pp\n)+", r"\1", text, flags=re.M)


def page(name, about, header, items, see):
    functions = [function for item in items for function in item.functions()]
    description, examples = [], []
    for item in items:
        text, found = prose(item.comment)
        names = [name for _, name, _ in item.functions()]
        examples += found
        if names:
            description.append(".Ss " + ", ".join(f"{name}()" for name in names))
        elif description and (text or item.code):
            description.append(".Pp")
        if text:
            description.append(text)
        if item.code.startswith("typedef"):
            description += [*([".Pp"] if not text and not description else []), literal(narrow(item.code))]
    out = ['.\\" SPDX-License-Identifier: MIT', f'.\\" Made by kernels/manual.py from {os.path.basename(header)}: change that.', f".Dd {DATE}",
           f".Dt {name.upper()} 3", ".Os", ".Sh NAME"]
    titles = list(dict.fromkeys([name, *(function[1] for function in functions)]))
    out += [f".Nm {title}{' ,' if title != titles[-1] else ''}" for title in titles]
    out += [f".Nd {about}", ".Sh SYNOPSIS", f".In tiletranspose/{os.path.basename(header)}", *map(synopsis, functions)]
    out += [".Pp", "Compile and link with what", ".Ql pkg-config --cflags --libs tiletranspose", "says.", ".Sh DESCRIPTION", *description]
    if any(function[0] == "TtStatus" for function in functions):
        out += [".Sh RETURN VALUES", "Functions of type", ".Vt TtStatus", "return", ".Dv TT_OK ,", "which is 0, or what went wrong."]
        if name != "tt_dlpack":
            out += [r"\fBtt_last_error\fP() then says it in one line."]
    if examples:
        out += [".Sh EXAMPLES", *map(literal, examples)]
    out += [".Sh SEE ALSO", *(f".Xr {other} 3{' ,' if other != see[-1] else ''}" for other in see)]
    return tidy("\n".join(out) + "\n")


def manual(headers):
    """{name: text} of the pages and of all that leads to one."""
    pages = {}
    for header in headers:
        before = []
        for title, items in parse(header).items():
            if title and title not in PAGES:
                sys.exit(f"manual.py: {header}: the section \"{title}\" has no page: give it one in PAGES")
            name, about, joins = PAGES[title] if title else WHOLE
            if not title and next(PAGES[other][2] for other in parse(header) if other):
                before = items
                continue
            pages[name] = (about, header, before + items if joins else items)
    texts = {name: page(name, *about, sorted(set(pages) - {name})) for name, about in pages.items()}
    for name, (_, _, items) in pages.items():
        for item in items:
            for alias in [function[1] for function in item.functions()] + item.types():
                texts.setdefault(alias, f".so man3/{name}.3\n")
    return {name + ".3": text for name, text in texts.items()}


def main():
    pages = manual(sys.argv[2:])
    if sys.argv[1] == "--list":
        print("\n".join(pages))
        return
    for name, text in pages.items():
        with open(os.path.join(sys.argv[1], name), "w", encoding="utf-8") as file:
            file.write(text)


main()
