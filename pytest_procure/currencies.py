"""The currencies that prices and cost bars may be in: codes of ISO 4217, so that a misspelt one is no money.

Source: ISO 4217, list one (currencies in use), as its maintenance agency SIX published it on 2026-01-01.
Left out is what nobody pays with: codes of funds, precious metals, units of account, tests.
"""

from __future__ import annotations

CURRENCIES = frozenset(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD
    CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD
    GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD
    KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO
    NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE
    SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND
    VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
    """.split()  # noqa: SIM905 - a list with quotes takes four times the lines
)
#: What offers are usually priced in: of two codes that are as near to a misspelt one, the likelier.
_COMMON = ("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD")
_LETTERS = 3


def nearest_currency(code: str) -> str:
    """Give the currency that is meant by a misspelt code of three capitals; nothing where none is near.

    >>> nearest_currency("UDS"), nearest_currency("EUD"), nearest_currency("XBT")
    ('USD', 'EUR', '')
    """
    ordered = (*_COMMON, *sorted(CURRENCIES))
    swapped = (each for each in ordered if sorted(each) == sorted(code))
    one_off = (each for each in ordered if _alike(each, code) == _LETTERS - 1)
    return next(swapped, "") or (next(one_off, "") if len(code) == _LETTERS else "")


def _alike(one: str, other: str) -> int:
    """Count the places at which two codes have the same letter."""
    return sum(a == b for a, b in zip(one, other, strict=False))
