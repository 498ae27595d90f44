#!/usr/bin/env python3
"""Ten thousand lines of difficult text for the tokenizer test, the same on every machine.

wordpiece_lines.py LINES            writes the lines
wordpiece_lines.py LINES VOCAB IDS  also writes the ids that the package `tokenizers` gives for them, a line each

Standard library only; the second form needs `tokenizers` and is how the digest in tests/modules/wordpiece_test.cc is made.
"""
import random
import sys

COUNT = 10_000

# Blocks whose every code point occurs, alone and within a word; ideographs and Hangul are only sampled.
SWEPT = [(0x01, 0x3400), (0xA000, 0xAC00), (0xD7B0, 0xD800), (0xF900, 0x11400), (0x11400, 0x12500), (0x13000, 0x13460),
         (0x16800, 0x17000), (0x18D00, 0x18D10), (0x1AFF0, 0x1B180), (0x1BC00, 0x1BCB0), (0x1CF00, 0x1E000),
         (0x1E000, 0x1FC00), (0x2F800, 0x2FA20), (0xE0000, 0xE0200)]
BREAKS = {0x0A}

WORDS = """the of and quick brown fox jumps over lazy dog hello world embedding tokenization unbelievable internationalization
playing guitar weather station hub install model don't can't it's e-mail state-of-the-art U.S.A. [SEP] [MASK] [UNK] ##ing
3.14159 2024-10-31 1,000,000 $5.00 100% C++ C# naïve café résumé Straße ÅNGSTRÖM İstanbul ıŞIK Ŝipo Łódź Đorđe ΣΊΣΥΦΟΣ
ΟΔΟΣ Привет ЁЖИК Ґанок мир 北京 東京 你好 日本語 テスト カタカナ ひらがな 한국어 서울 العربية مرحبا שלום नमस्ते தமிழ் ไทย
ภาษาไทย ქართული ᲥᲐᲠᲗᲣᲚᲘ ԱՐԵՒ አማርኛ ខ្មែរ မြန်မာ ᏣᎳᎩ Ꭳꮳ ﬁnance ǅungla ①②③ ½ ™ © № ℃ Ω K Å … — “quoted” «là» ¿qué? 「あ」！"""

MARKS = [*range(0x300, 0x370), *range(0x483, 0x48A), *range(0x591, 0x5C8), *range(0x64B, 0x660), *range(0x1AB0, 0x1AC0),
         *range(0x20D0, 0x20F1), 0x302A, 0x302E, 0x302F, 0x3099, 0x309A, 0x93C, 0x94D, 0x1B44, 0xA953, 0x1D165, 0x1D16D]
INVISIBLE = [0x00, 0x01, 0x07, 0x08, 0x09, 0x0B, 0x0C, 0x0D, 0x1B, 0x7F, 0x80, 0x85, 0xA0, 0xAD, 0x61C, 0x180E, 0x200B,
             0x200C, 0x200D, 0x200E, 0x2028, 0x2029, 0x202F, 0x2060, 0x2066, 0x3000, 0xFE0E, 0xFE0F, 0xFEFF, 0xFFF9,
             0xFFFC, 0xFFFD, 0xFFFE, 0xE0001, 0xE0020, 0xE0100]


def any_of(rng, items):
    return items[rng.randrange(len(items))]


def in_range(rng, low, high):
    return chr(rng.randrange(low, high))


def joined(rng, pieces):
    return "".join(p + any_of(rng, ["", " ", " ", ",", ".", "-"]) for p in pieces)


def swept():
    points = [c for low, high in SWEPT for c in range(low, high) if c not in BREAKS]
    for i in range(0, len(points), 12):
        yield "".join(f"a{chr(c)}b {chr(c)} " for c in points[i:i + 12])


def words(rng):
    listed = WORDS.split()
    out = [any_of(rng, listed) for _ in range(rng.randrange(1, 14))]
    return " ".join(w.upper() if w.isascii() and rng.randrange(5) == 0 else w for w in out)


def marked(rng):
    pieces = []
    for _ in range(rng.randrange(1, 9)):
        word = ""
        for _ in range(rng.randrange(1, 8)):
            word += in_range(rng, *any_of(rng, [(0x61, 0x7B), (0x41, 0x5B), (0xC0, 0x250), (0x1E00, 0x2000)]))
            word += "".join(chr(any_of(rng, MARKS)) for _ in range(any_of(rng, [0, 0, 0, 1, 1, 3])))
        pieces.append(word)
    return " ".join(pieces)


def ideographs(rng):
    kinds = [(0x4E00, 0x9FFF), (0x3400, 0x4DC0), (0x20000, 0x2A6E0), (0x2A700, 0x2B820), (0x2B820, 0x2CEB0),
             (0x2CEB0, 0x2EBE1), (0x30000, 0x31350), (0xF900, 0xFB00), (0x2F800, 0x2FA20), (0x3040, 0x3100), (0x61, 0x7B),
             (0x30, 0x3A), (0xFF01, 0xFF60)]
    return joined(rng, [in_range(rng, *any_of(rng, kinds)) for _ in range(rng.randrange(1, 30))])


def emoji(rng):
    kinds = [(0x1F300, 0x1F700), (0x1F900, 0x1FB00), (0x2600, 0x27C0), (0x1F1E6, 0x1F200), (0x1F3FB, 0x1F400)]
    out = any_of(rng, ["", "ok ", "fine"])
    for _ in range(rng.randrange(1, 12)):
        out += in_range(rng, *any_of(rng, kinds)) + any_of(rng, ["", "", " ", "\u200d", "\ufe0f", "\u20e3", "x", "!"])
    return out


def hidden(rng):
    out = ""
    for _ in range(rng.randrange(1, 30)):
        out += any_of(rng, ["the", "cat", "é", "字", "1", "."]) + chr(any_of(rng, INVISIBLE))
    return out


def long_words(rng):
    letters = any_of(rng, ["a", "ab", "é", "e\u0301", "ц", "ab字", "한"])
    return " ".join(letters * any_of(rng, [33, 49, 50, 51, 99, 100, 101, 102, 200]) for _ in range(rng.randrange(1, 4)))


def hangul(rng):
    kinds = [(0xAC00, 0xD7A4), (0xAC00, 0xD7A4), (0x1100, 0x1113), (0x1161, 0x1176), (0x11A8, 0x11C3), (0x3131, 0x318F)]
    return joined(rng, [in_range(rng, *any_of(rng, kinds)) for _ in range(rng.randrange(1, 25))])


def scripts(rng):
    low = any_of(rng, [0x370, 0x400, 0x530, 0x590, 0x600, 0x700, 0x780, 0x900, 0x980, 0xA00, 0xB80, 0xC00, 0xD00, 0xE00,
                       0xE80, 0xF00, 0x1000, 0x10A0, 0x1200, 0x13A0, 0x1780, 0x1800, 0x1B00, 0x10300, 0x11000, 0x1E900])
    return joined(rng, ["".join(in_range(rng, low, low + 0x80) for _ in range(rng.randrange(1, 9)))
                        for _ in range(rng.randrange(1, 8))])


def anywhere(rng):
    out = ""
    for _ in range(rng.randrange(1, 30)):
        c = rng.randrange(*any_of(rng, [(1, 0x10000), (0x10000, 0x110000), (0xE000, 0xF900), (0xF0000, 0x110000)]))
        out += " " if c in BREAKS or 0xD800 <= c < 0xE000 else chr(c)
        out += any_of(rng, ["", "", "e", " "])
    return out


def lines():
    rng = random.Random(20240607)
    made = list(swept())
    kinds = [words, words, marked, ideographs, emoji, hidden, long_words, hangul, scripts, anywhere]
    while len(made) < COUNT:
        made.append(kinds[len(made) % len(kinds)](rng))
    assert len(made) == COUNT and not any("\n" in line for line in made)
    return made


def reference_ids(vocabulary, text):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    with open(vocabulary, encoding="utf-8") as file:
        ids = {token: i for i, token in enumerate(file.read().split("\n")) if token}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    for line in text:
        yield [ids["[CLS]"], *tokenizer.encode(line, add_special_tokens=False).ids, ids["[SEP]"]]


def main():
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    text = lines()
    with open(sys.argv[1], "w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in text)
    if len(sys.argv) == 4:
        with open(sys.argv[3], "w", encoding="ascii", newline="\n") as file:
            file.writelines(" ".join(map(str, ids)) + "\n" for ids in reference_ids(sys.argv[2], text))


if __name__ == "__main__":
    main()
