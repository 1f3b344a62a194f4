"""The words of an avatar's terms (``idol.avatar.licence``) in Chinese and Japanese. Keys are the English texts."""

from __future__ import annotations

TERMS: dict[str, tuple[str, str]] = {
    "Before you use this avatar: what its author says": (
        "使用此角色之前：作者的说明", "このアバターを使う前に：作者の定める条件"
    ),
    "Use this avatar": ("使用此角色", "このアバターを使う"),
    "Author": ("作者", "作者"),
    "Copyright": ("版权", "著作権"),
    "Contact": ("联系方式", "連絡先"),
    "Licence": ("许可", "ライセンス"),
    "See also": ("参见", "参照"),
    "not said": ("未说明", "記載なし"),
    "allowed": ("允许", "許可"),
    "with conditions": ("有条件", "条件つき"),
    "forbidden": ("禁止", "禁止"),
    "Performing with it": ("用它表演", "演じること"),
    "Commercial use": ("商业使用", "商用利用"),
    "Violent content": ("暴力内容", "暴力表現"),
    "Sexual content": ("色情内容", "性的表現"),
    "Political or religious use": ("政治或宗教用途", "政治・宗教目的"),
    "Antisocial or hateful use": ("反社会或仇恨用途", "反社会・憎悪目的"),
    "Redistribution": ("再分发", "再配布"),
    "Modification": ("修改", "改変"),
    "Credit": ("署名", "クレジット表記"),
    "allowed, to individuals and companies.": ("允许，个人和企业均可。", "個人も企業も利用できます。"),
    "forbidden: only individuals, and without profit.": (
        "禁止：仅限个人非营利使用。", "禁止：個人の非営利利用に限ります。"
    ),
    "individuals may earn money with it, companies may not use it.": (
        "个人可用于营利，企业不得使用。", "個人は営利目的で使えますが、企業は使えません。"
    ),
    "its author need not be named.": ("无需署名作者。", "作者名の表記は不要です。"),
    "its author must be named where it is passed on.": ("转发时必须署名作者。", "配布する際は作者名の表記が必要です。"),
    "the author's own licence says it.": ("以作者自己的许可为准。", "作者独自のライセンスによります。"),
    "its authors must be named where it is shown.": ("展示时必须署名作者。", "表示する際は作者名の表記が必要です。"),
    "its authors need not be named.": ("无需署名作者。", "作者名の表記は不要です。"),
    "allowed, and the changed avatar may be passed on.": (
        "允许，修改后的角色可以转发。", "改変でき、改変したものを配布できます。"
    ),
    "allowed; the changed avatar may be passed on, naming its author.": (
        "允许；修改后的角色可在署名作者的前提下转发。", "改変でき、作者名を表記すれば改変したものを配布できます。"
    ),
    "allowed; the changed avatar may be passed on, naming its author and without profit.": (
        "允许；修改后的角色可在署名作者且非营利的前提下转发。",
        "改変でき、作者名を表記し非営利であれば改変したものを配布できます。",
    ),
    "allowed; the changed avatar may be passed on under the same licence, naming its author.": (
        "允许；修改后的角色可在署名作者的前提下以相同许可转发。",
        "改変でき、作者名を表記し同じライセンスであれば改変したものを配布できます。",
    ),
    "allowed; the changed avatar may be passed on under the same licence, naming its author and without profit.": (
        "允许；修改后的角色可在署名作者且非营利的前提下以相同许可转发。",
        "改変でき、作者名を表記し同じライセンスかつ非営利であれば改変したものを配布できます。",
    ),
    "for one's own use only: what was changed may not be passed on.": (
        "仅限自用：修改后的内容不得转发。", "自分用に限ります。改変したものは配布できません。"
    ),
    "may be changed for one's own use, but the changed avatar may not be passed on.": (
        "可以自用修改，但修改后的角色不得转发。", "自分用に改変できますが、改変したものは配布できません。"
    ),
    "only its author may perform with this avatar.": (
        "只有作者本人可以用此角色表演。", "このアバターで演じられるのは作者だけです。"
    ),
    "only people whom its author gave a licence may perform with it.": (
        "只有获得作者许可的人可以用它表演。", "作者が許可した人だけが演じられます。"
    ),
    "anyone may perform with this avatar.": ("任何人都可以用此角色表演。", "誰でもこのアバターで演じられます。"),
    "allowed, naming its author.": ("允许，须署名作者。", "作者名を表記すれば許可されます。"),
    "allowed, naming its author and without profit.": (
        "允许，须署名作者且非营利。", "作者名を表記し非営利であれば許可されます。"
    ),
}  # fmt: skip
