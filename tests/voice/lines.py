"""Lines she might say, with what a listener should write down. Written for these tests.

Japanese lines carry their reading in kana, so that a listener's choice between kanji and kana does not count as an
error while a misread kanji does.
"""

from __future__ import annotations

ENGLISH = (
    "Hello everyone, welcome back to the stream!",
    "I had a really long day, but seeing you all here makes me happy.",
    "What kind of music do you like to listen to at night?",
    "Today we are going to play a puzzle game together.",
    "Thank you so much for the gift, you are too kind.",
    "I think the second boss is much harder than the first one.",
    "My favorite food is strawberry cake with whipped cream.",
    "Please remember to drink some water and rest your eyes.",
    "That was close, I almost fell off the bridge!",
    "Do you want to hear a story about my first concert?",
    "The weather is cold, so keep yourself warm tonight.",
    "I practiced singing for three hours this morning.",
    "Sorry, I did not catch that, could you say it again?",
    "Every season has its own color, and I love autumn the most.",
    "Let us take a short break and come back in ten minutes.",
    "If you are tired, it is perfectly fine to go to bed early.",
    "I read a wonderful book about the ocean last week.",
    "Can you guess what I am drawing right now?",
    "She lives in a small house close to the river.",
    "Good night, sleep well, and see you tomorrow.",
)

CHINESE = (
    "大家好，欢迎来到我的直播间！",
    "今天的天气真好，我们一起出去玩吧。",
    "谢谢你的礼物，我非常喜欢。",
    "你最喜欢吃什么水果？",
    "我昨天晚上看了一部很有意思的电影。",
    "别担心，我会一直陪着你。",
    "这个游戏太难了，我已经输了三次。",
    "晚上早点睡觉，对身体好。",
    "你能不能再说一遍？我没有听清楚。",
    "明天下午我们一起唱歌，好不好？",
    "我觉得这首歌特别好听。",
    "春天来了，公园里的花都开了。",
    "如果你累了，就休息一下吧。",
    "我想学做蛋糕，可是总是失败。",
    "他从小就喜欢画画，现在是一位有名的画家。",
    "外面下雨了，出门记得带伞。",
    "祝你生日快乐，天天开心！",
    "我们还有两个小时才到北京。",
    "这只小猫看起来很可爱。",
    "时间过得真快，下次再见。",
)

JAPANESE = (
    ("みなさん、こんにちは。今日も来てくれてありがとう！", "みなさんこんにちはきょうもきてくれてありがとう"),
    ("昨日は友達と一緒に映画を見ました。", "きのうはともだちといっしょにえいがをみました"),
    ("好きな食べ物は何ですか？", "すきなたべものはなんですか"),
    ("このゲームはとても難しいですね。", "このげーむはとてもむずかしいですね"),
    ("疲れたときは、ゆっくり休んでください。", "つかれたときはゆっくりやすんでください"),
    ("明日の天気は晴れだそうです。", "あしたのてんきははれだそうです"),
    ("私は歌うことが大好きです。", "わたしはうたうことがだいすきです"),
    ("もう一度言ってもらえますか？", "もういちどいってもらえますか"),
    ("お誕生日おめでとうございます！", "おたんじょうびおめでとうございます"),
    ("窓を開けたら、涼しい風が入ってきました。", "まどをあけたらすずしいかぜがはいってきました"),
    ("一緒に頑張りましょう。", "いっしょにがんばりましょう"),
    ("朝ごはんにパンと卵を食べました。", "あさごはんにぱんとたまごをたべました"),
    ("駅まで歩いて十分くらいかかります。", "えきまであるいてじゅっぷんくらいかかります"),
    ("猫が机の上で寝ています。", "ねこがつくえのうえでねています"),
    ("次の配信は土曜日の夜です。", "つぎのはいしんはどようびのよるです"),
    ("新しい曲を聞いてくれて嬉しいです。", "あたらしいきょくをきいてくれてうれしいです"),
    ("夏になると、海に行きたくなります。", "なつになるとうみにいきたくなります"),
    ("その話はとても面白いと思います。", "そのはなしはとてもおもしろいとおもいます"),
    ("ごめんなさい、少し遅れてしまいました。", "ごめんなさいすこしおくれてしまいました"),
    ("おやすみなさい、また明日ね。", "おやすみなさいまたあしたね"),
)

PERSON_LINE = (
    "*waves* Look 👉🏽 https://www.example.com/a?b=1 — we start at **7:30**, it costs $12.50 and needs 3.5GB! 🎉✨"
)
"""Emoji, asterisks, a link and figures in one line."""
PERSON_HEARD = (
    r"look,? ?example(\.| dot )com", r"start at \$?(7[:.]30|seven thirty)", r"\$12\.50|twelve dollars and fifty cents",
    r"(3\.5|three point five) ?(gb|gigabytes)",
)  # fmt: skip
"""What must be found in what a listener writes down, in lower case. (Whisper may take 7:30 for a price too.)"""
