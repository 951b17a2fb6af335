"""Where abbreviations end English sentences.

The splitter ends no sentence at an abbreviation that stands before a name ("5 min. Anna left"), because it could be a
title ("Rep. Smith"). Here, an abbreviation before a capitalised word ends a sentence unless it usually stands before
names, numbers or examples. In 1,000,000 sentences of ten genres, "etc.", "min.", "ill.", "OK." and "art." before a
capitalised word are nearly always ends; "Mr.", "St.", "Lt." and "vs." never.
"""

from __future__ import annotations

import re
from itertools import pairwise

# What the splitter takes for abbreviations.
_ABBREVIATIONS = """
abbrev adj adm adv al ala alta apr arc ariz ark art assn asst attys aug ave bart bld bldg blvd brig bros btw ca cal
calif capt cf cit cl cmdr co col colo comdr con conn corp cpl cres ct dak dc dec del dept det dist dr drs eg ens esp
esq etc exec exp expy ext feb fed ff fig fla fr fwy fy ga gen gov hon hosp hr hway hwy ia ibid id ida ie ill inc ind
ing insp jan jr jul jun kan kans ken ky la ll loc lt ltd maj mar may me med messrs mex mfg mich min minn miss mlle mm
mme mo mont mr mrs msgr mssrs mt mtn nb neb nebr nem nev no nos nov nr oct ok okla ont op ord ore pa pd pde penn penna
pfc pg ph pl plz pp pps pres prof ps pvt qq que rd re ref reg rep reps res rev rs rt sask sc scil sec sen sens sep
sept sfc sgt sr st supt surg tce tenn tex univ usafa ut va ver viz vs vt wef wis wisc wrt wy wyo yahoo yuk yum
"""
# An abbreviation and what could be the first word of a sentence: a capitalised word, "I" or "A".
_CANDIDATE = re.compile(r"""(?<![\w.@])([A-Za-z]{2,6})\.[’)]* (?=["'“‘(]{0,2}(?:([A-Z][a-z’']+)|([AI])[ ’']))""")
# Before names ("Rep. Smith"), also in lower case unless someone speaks of "the prof.".
_TITLES = """
mr mrs ms messrs mssrs mm mme mlle dr drs prof asst rev hon fr msgr lt col gen maj brig capt cmdr comdr cpl sgt sfc pfc
pvt adm ens sen sens gov pres supt surg insp mt mtn st rt sr jr
"""
_NAMED = ("rev", "hon")  # "the rev. Maclean"
# Before examples, citations and rival names, and company names that may go on ("Warner Bros. Pictures").
_GOES_ON = "vs viz cf eg ie ca esp wrt btw nb nr adj adv exec inc co corp ltd bros ing"
_PARTS = ("fig", "sec", "op", "pl", "ref", "loc", "res")  # before a letter ("sec. A"); also ordinary words and units
# Capitalised words that end sentences, among them months; places and companies may go on ("Calif. Gov.", "Oracle Corp.
# Chairman").
_ORDINARY = """
No OK Ok Me May Etc Al Art Ken Ida Bart Penn Arc Ark Yahoo Yum Yuk Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec
"""
_NUMBERS = ("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")  # "No. Ten"
_KNOWN, _BEFORE_NAMES, _JOINED, _ENDS = (
    frozenset(words.split()) for words in (_ABBREVIATIONS, _TITLES, f"{_TITLES} {_GOES_ON}", _ORDINARY)
)
_BEFORE_A_NOUN = re.compile(
    r"\b(?:an?|the|my|your|his|her|its|our|their|this|that|each|every|another|some|no|per|one|two|three|four|five|"
    r"six|seven|eight|nine|ten|few|sales|\d+)[ -]$",
    re.IGNORECASE,
)
_LONGEST_BEFORE = 12  # characters that `_BEFORE_A_NOUN` reads
# What the splitter does not know as abbreviations, before a number.
_BEFORE_A_NUMBER = re.compile(r"\b(?:approx|incl|figs|eqs?|vols?|avg|est)\.\s*$", re.IGNORECASE)


def with_abbreviations(pieces: list[str]) -> list[str]:
    """Return the pieces of an English text, ended at abbreviations that end sentences; they are the text when joined.

    Example:
        >>> with_abbreviations(["It took 5 min. Anna met Dr. Smith. ", "It takes approx. ", "5 min. by bus."])
        ['It took 5 min. ', 'Anna met Dr. Smith. ', 'It takes approx. 5 min. by bus.']
    """
    return [part for piece in _with_numbers(pieces) for part in _ended(piece)]


def _with_numbers(pieces: list[str]) -> list[str]:
    """Join the pieces between an abbreviation and its number."""
    found: list[str] = []
    for piece in pieces:
        if found and piece[:1].isdigit() and _BEFORE_A_NUMBER.search(found[-1][-12:]):
            found[-1] += piece
        else:
            found.append(piece)
    return found


def _ended(piece: str) -> list[str]:
    """Return the parts of a piece that abbreviations end."""
    ends = [0, *(match.end() for match in _CANDIDATE.finditer(piece) if _is_end(match)), len(piece)]
    return [piece[start:end] for start, end in pairwise(ends)]


def _is_end(match: re.Match[str]) -> bool:
    word, following = match[1], match[2] or match[3]
    if word.lower() not in _KNOWN:
        return False
    if not word.islower():
        return _is_capitalised_end(word, following)
    after_noun = _BEFORE_A_NOUN.search(match.string, max(0, match.start() - _LONGEST_BEFORE), match.start()) is not None
    if word in _BEFORE_NAMES:
        return after_noun and word not in _NAMED
    if word in _PARTS and len(following) == 1:
        return after_noun
    return word not in _JOINED


def _is_capitalised_end(word: str, following: str) -> bool:
    if word == "No":
        return following not in _NUMBERS
    if word in _ENDS:
        return True
    return word.isupper() and word.lower() not in _JOINED
