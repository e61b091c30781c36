"""Currencies as people write them."""

MARKS = {
    "USD": ("$", "us$", "usd", "dollars", "美元"),
    "EUR": ("€", "eur", "euro", "euros", "欧元"),
    "CNY": ("¥", "￥", "cny", "rmb", "元", "块", "块钱", "人民币"),
}


def as_currency(words: str) -> str | None:
    """Name the currency that some words stand for; None where that is not sure."""
    return next((c for c, marks in MARKS.items() if words.strip().casefold() in marks), None)
