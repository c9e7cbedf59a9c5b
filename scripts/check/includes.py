#!/usr/bin/env python3
"""Checks how the rooms of src/ use one another. CMakeLists.txt says of each room and program which rooms and libraries it links, the lowest
room first; those must be the ones whose headers it includes, no more and no fewer, and the drawing in src/README.md must show them.

Refused besides: LibTorch in a room outside CMake's if(CHARGPT_TORCH), spdlog outside report/*.cpp, CLI11 outside cli/options.cpp, cli/ outside
cli/ and the programs, a command that includes another, printing or exiting outside cli/ and the programs, random numbers
that are not passed in, a header that does not open with what it is for and a room that src/README.md does not list.
One line per offence, with what to write where something is missing; exit status 1 if any.

    scripts/check/includes.py [FOLDER]           FOLDER: the checkout (default: this one)
    scripts/check/includes.py --draw [FOLDER]    writes the drawing into src/README.md
"""

import dataclasses
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
# What links rooms in CMakeLists.txt, and the conditions around it.
CMAKE = re.compile(r"^[ \t]*(?:chargpt_(?P<kind>room|program|module)\((?P<words>[^()]*)\)|if\((?P<condition>.*)\)|(?P<end>endif)\(\))", re.MULTILINE)
DRAWING = re.compile(r"^```mermaid\n.*?^```\n", re.MULTILINE | re.DOTALL)
# Libraries of which a room links just those that it includes, by how their headers' names begin.
LIBRARIES = {"nlohmann/": "nlohmann_json::nlohmann_json", "spdlog/": "spdlog::spdlog", "CLI/": "CLI11::CLI11", "zlib.h": "ZLIB::ZLIB",
             "lzma.h": "LibLZMA::LibLZMA", "archive": "LibArchive::LibArchive", "mpi.h": "MPI::MPI_CXX", "torch/": "LibTorch::LibTorch", "ATen/": "LibTorch::LibTorch", "c10/": "LibTorch::LibTorch"}
PRINTS_OR_EXITS = re.compile(
    r"std::(?:cout|cerr|clog)\b|(?<![\w.>])(?:std::)?(?:printf|fprintf|vprintf|vfprintf|puts|putchar|perror|exit|_exit|_Exit|quick_exit|abort)\s*\(")
UNPASSED_RANDOMNESS = re.compile(r"\bstd::(?:random_device|mt19937(?:_64)?|\w+_distribution)\b|(?<![\w.>:])(?:std::)?s?rand\s*\(")
# Comments, string and character literals; what they say is no use of anything.
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)


@dataclasses.dataclass
class Room:
    """A room, or a program: what CMakeLists.txt says of it, and what its files include."""
    name: str
    kind: str  # "room", "program" or "module", which is loaded by one
    source: str  # of a program: main.cpp
    links: list
    light: bool  # built without LibTorch too
    line: int
    includes: dict = dataclasses.field(default_factory=dict)  # room or library -> "name:line" of the first include

    def call(self, links):
        return f"chargpt_{self.kind}({' '.join(filter(None, [self.name, self.source, *links]))})"


def read_rooms(cmake):
    """Rooms and programs by name (of a program: its source's), in the order of CMakeLists.txt."""
    rooms, conditions = {}, []
    for match in CMAKE.finditer(cmake):
        if match["end"]:
            conditions.pop()
        elif match["kind"]:
            name, *links = match["words"].split()
            source = links.pop(0) if match["kind"] in ("program", "module") else ""
            line = cmake.count("\n", 0, match.start("kind")) + 1
            rooms[source or name] = Room(name, match["kind"], source, links, "CHARGPT_TORCH" not in conditions, line)
        else:
            conditions.append(match["condition"])
    return rooms


def room_of(name):
    return name.split("/")[0]  # a program's source lies in src/ itself


def command_of(name):
    """"bench" of cli/commands/bench_learn.cpp; "" outside cli/commands/."""
    return name.removeprefix("cli/commands/").split(".")[0].split("_")[0] if name.startswith("cli/commands/") else ""


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def offences(path, name, rooms):
    """Lines "src/name:line: what is wrong" of one source file; notes in its room what it includes."""
    text = path.read_text(encoding="utf-8")
    room = rooms.get(room_of(name))
    if room is None:
        yield f"src/{name}:1: room {room_of(name)} has no place in the order of CMakeLists.txt"
        return
    order = list(rooms)
    below = order[:order.index(room_of(name))]
    is_command_line = room.kind in ("program", "module") or room.name == "cli"

    def at(position):
        return f"src/{name}:{text.count(chr(10), 0, position) + 1}"

    for include in INCLUDE.finditer(text):
        target, place = include[2], at(include.start(2))
        library = next((library for start, library in LIBRARIES.items() if target.startswith(start)), None)
        if library == "LibTorch::LibTorch" and room.light:
            yield f"{place}: torch-free room {room.name} includes <{target}>"
        if library == "spdlog::spdlog" and not (room.name == "report" and name.endswith(".cpp")):
            yield f"{place}: <{target}> outside report/*.cpp"
        if library == "CLI11::CLI11" and name != "cli/options.cpp":
            yield f"{place}: <{target}> outside cli/options.cpp, whose header compiles many times faster"
        if target.startswith("cli/") and not is_command_line:
            yield f'{place}: "{target}" is the command line\'s, which {room.name} must not know'
        if target.startswith("cli/commands/") and command_of(target) != command_of(name):
            yield f'{place}: "{target}" is another command\'s: what they share belongs into cli/'
        other = room_of(target)
        if include[1] == '"' and other != room.name and other not in below:
            yield f'{place}: {room.name} may not include "{target}": {other} comes after it in CMakeLists.txt, or is no room'
        elif include[1] == '"' and other != room.name:
            room.includes.setdefault(other, place)
        elif library:
            room.includes.setdefault(library, place)

    code = NO_CODE.sub(blank, text)
    if not is_command_line:
        for use in PRINTS_OR_EXITS.finditer(code):
            yield f"{at(use.start())}: {use[0].rstrip(' (')} outside cli/: throw an Error, or emit an event"
    for use in UNPASSED_RANDOMNESS.finditer(code):
        yield f"{at(use.start())}: {use[0].rstrip(' (')}: randomness is passed in, from base/random.h"
    if name.endswith(".h") and not text.startswith(("//", "/*")):
        yield f"src/{name}:1: a header opens with a comment: what it is for and what it must never know"


def link_offences(rooms):
    """A line for each room whose links are not its includes; it ends with what to write in CMakeLists.txt."""
    order = [*rooms, *dict.fromkeys(LIBRARIES.values())]
    for index, (name, room) in enumerate(rooms.items()):
        right = sorted(room.includes, key=order.index)
        below = [*order[:index], *order[len(rooms):]]
        wrong = [f"links {link}, which comes after it or is no room" for link in room.links if link not in below]
        wrong += [f"links {link} and includes nothing of it" for link in room.links if link in below and link not in right]
        wrong += [f"does not link {other}, included at {room.includes[other]}" for other in right if other not in room.links]
        if wrong:
            yield f"CMakeLists.txt:{room.line}: {name} {', '.join(wrong)}; write {room.call(right)}"


def drawing(rooms):
    """The graph of rooms as a mermaid block, without the arrows that others already imply."""
    reach = {}  # room -> all that it knows, by whatever way
    for name, room in rooms.items():
        direct = [link for link in room.links if link in reach]
        reach[name] = set(direct).union(*(reach[link] for link in direct))
    lines = ["```mermaid", "graph TD"]
    for title, light in (("loaded where it is asked for, with LibTorch", False), ("the program", True)):
        members = [name for name, room in reversed(rooms.items()) if room.light == light]
        lines += [f'  subgraph {"program" if light else "libtorch_part"}["{title}"]', *(f"    {node(name)}" for name in members), "  end"]
    for name, room in reversed(rooms.items()):
        direct = [link for link in room.links if link in reach]
        shown = [link for link in direct if not any(link in reach[other] for other in direct)]
        if shown:
            lines.append(f"  {node_id(name)} --> {' & '.join(map(node_id, sorted(shown, key=list(rooms).index, reverse=True)))}")
    return "\n".join([*lines, "```", ""])


def node_id(name):
    return name.removesuffix(".cpp")


def node(name):
    return f'{node_id(name)}["{name}"]' if name.endswith(".cpp") else name


def readme_offences(readme, rooms):
    for name in rooms:
        row = f"`{name}`" if name.endswith(".cpp") else f"`{name}/`"
        if row not in readme:
            yield f"src/README.md: no row says what {row} knows"
    drawn = DRAWING.search(readme)
    if not drawn or drawn[0] != drawing(rooms):
        yield f"src/README.md: the drawing is not what CMakeLists.txt links; scripts/check/includes.py --draw writes\n{drawing(rooms)}"


def main(arguments):
    draw = "--draw" in arguments
    folders = [argument for argument in arguments if argument != "--draw"]
    root = pathlib.Path(folders[0] if folders else pathlib.Path(__file__).resolve().parents[2])
    source, readme = root / "src", root / "src/README.md"
    rooms = read_rooms((root / "CMakeLists.txt").read_text(encoding="utf-8"))
    if draw:
        text, count = DRAWING.subn(lambda _: drawing(rooms), readme.read_text(encoding="utf-8"), count=1)
        if not count:
            sys.exit("src/README.md: no block ```mermaid to draw into")
        readme.write_text(text, encoding="utf-8")
        return 0
    files = sorted([*source.rglob("*.h"), *source.rglob("*.cpp")])
    found = [line for path in files for line in offences(path, path.relative_to(source).as_posix(), rooms)]
    found += [*link_offences(rooms), *readme_offences(readme.read_text(encoding="utf-8"), rooms)]
    for line in found:
        print(line)
    print(f"check_includes: {len(files)} files, {len(rooms)} rooms and programs, {len(found)} offences")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
