"""Public collections of games by name: where they are, and how they get here.

A component of kind ``go.dataset`` is a factory(parameters) -> `PublicDataset`. Nothing is fetched
before somebody asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicDataset:
    """A collection of games that others publish.

    Attributes:
      name: what it is called here.
      summary: what it holds.
      page: where it is described.
      sizes: boards that its games are on.
      licence: what is known of its terms.
      url: an archive that can be fetched over https and imported as it is; empty where there is
        none or there are many.
      sha256: of that archive, in hexadecimal; empty where it is not known, or it changes.
      size: of that archive, roughly, in bytes; 0 unknown.
      instructions: how to get it by hand, and what to import.
    """

    name: str
    summary: str
    page: str
    sizes: tuple[int, ...]
    licence: str
    url: str = ""
    sha256: str = ""
    size: int = 0
    instructions: str


def cgos_9x9(parameters: object = None) -> PublicDataset:
    """Return the 9x9 games of the Computer Go Server."""
    return PublicDataset(
        name="cgos-9x9",
        summary="Games of engines on the Computer Go Server, an archive a month, with ratings",
        page="http://www.yss-aya.com/cgos/",
        sizes=(9,),
        licence="not stated; ask the server's operator before passing games on",
        instructions="Fetch months from the page's archive, such as 9x9_2020_09.tar.bz2, and "
        "import them: miai go data import 9x9_*.tar.bz2 --out DIR --min-rating 2000",
    )


def aya_selfplay(parameters: object = None) -> PublicDataset:
    """Return the games that the engine Aya played with itself."""
    return PublicDataset(
        name="aya-selfplay",
        summary="Games of the engines Aya and Natsukaze with themselves, made to train networks",
        page="http://www.yss-aya.com/ayaself/ayaself.html",
        sizes=(9, 13, 19),
        licence="not stated; ask the author before passing games on",
        instructions="Fetch .tar.bz2 archives from the page and import them: "
        "miai go data import *.tar.bz2 --out DIR --size 9",
    )


def cwi(parameters: object = None) -> PublicDataset:
    """Return the collection of Andries Brouwer."""
    return PublicDataset(
        name="cwi",
        summary="Professional games since the Edo period; some hundred on 9x9, the rest on 19x19",
        page="https://homepages.cwi.nl/~aeb/go/games/",
        sizes=(9, 13, 19),
        licence="moves only, taken to be in the public domain; see the page",
        url="https://homepages.cwi.nl/~aeb/go/games/games.tgz",
        size=46_000_000,
        instructions="Fetch games.tgz, which grows from time to time, and import it: "
        "miai go data import games.tgz --out DIR --size 9 --any-result",
    )


def kgs_4d(parameters: object = None) -> PublicDataset:
    """Return the games of strong players on the KGS Go Server."""
    return PublicDataset(
        name="kgs-4d",
        summary="Games of players of 4 dan and stronger on the KGS Go Server, an archive a month",
        page="https://www.u-go.net/gamerecords-4d/",
        sizes=(19,),
        licence="not stated; see the page",
        instructions="Fetch .tar.gz archives from the page, or give one's address by --url, and "
        "import them: miai go data import KGS4d-*.tar.gz --out DIR --size 19",
    )


def nngs(parameters: object = None) -> PublicDataset:
    """Return the games of the No Name Go Server."""
    return PublicDataset(
        name="nngs",
        summary="All 435,000 games of the No Name Go Server, 1995 to 2005, of every strength",
        page="https://github.com/zenon/NNGS_SGF_Archive",
        sizes=(9, 13, 19),
        licence="reproduction permitted with credit to the server, as the records say",
        instructions="Clone the repository and import its folder: "
        "miai go data import NNGS_SGF_Archive --out DIR --size 9 --min-rank 5k",
    )
