"""URLs as they may be shown and written down: without what gives access."""

import re

_LOGIN = re.compile(r"(?<=://)[^\s/?#'\"<>]*@")
_WEB_QUERY = re.compile(
    r"(https?://(?:(?!://)[^\s?#'\"<>])*+\?)([^\s#'\"<>]+)", re.IGNORECASE
)
_ENDS_A_PHRASE = ".,:;)"
_LEFT_OUT = re.compile(r"://…@|^https?://[^?]*\?…", re.IGNORECASE)
_LOGIN_OF, _QUERY_OF = re.compile(r"://([^\s/?#]+)@"), re.compile(r"https?://[^?#]*\?(.+)")


def without_secrets(text: str) -> str:
    """Leave names, passwords and signatures out of the URLs in a text.

    What is written is passed on: to a terminal's log, as a report, to those who share a
    folder. Of other stores than the web a question mark is one of a pattern.

    Examples
    --------
    >>> without_secrets("ftp://me:pass@host/rank0.json: there is no such file")
    'ftp://…@host/rank0.json: there is no such file'
    >>> without_secrets("see https://store/rank0.json?X-Amz-Signature=0f3a, or s3://b/rank?")
    'see https://store/rank0.json?…, or s3://b/rank?'
    """
    if "://" not in text:
        return text
    return _WEB_QUERY.sub(_query_left_out, _LOGIN.sub("…@", text))


def is_cut(url: str) -> bool:
    """Whether `without_secrets` left something out, so that a URL leads nowhere.

    Examples
    --------
    >>> is_cut("https://store/rank0.json?…"), is_cut("s3://b/rank?.json")
    (True, False)
    """
    return _LEFT_OUT.search(url) is not None


def secrets(url: str) -> tuple[str, ...]:
    """List the parts of one URL that may give access, as they stand in it.

    Libraries of stores write them into their messages in other surroundings.

    Examples
    --------
    >>> secrets("ftp://me:pass@host/rank0.json"), secrets("s3://b/rank?.json")
    (('me:pass',), ())
    """
    found = _LOGIN_OF.search(url), _QUERY_OF.match(url)
    return tuple(part[1] for part in found if part)


def last_part(path: str) -> str:
    """Return what a path or URL ends in, as the name of a file.

    Examples
    --------
    >>> last_part("https://store/run/rank0.json.gz?sig=a/b"), last_part("s3://b/rank1.json")
    ('rank0.json.gz', 'rank1.json')
    """
    return without_secrets(path).removesuffix("?…").rpartition("/")[2]


def _query_left_out(found: "re.Match[str]") -> str:
    query = found[2]
    return f"{found[1]}…{query[len(query.rstrip(_ENDS_A_PHRASE)) :]}"
