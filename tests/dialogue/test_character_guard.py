"""What is kept from being said, and what must not be: assistant-speak, code, loops, other languages."""

from __future__ import annotations

import pytest

from idol.dialogue.character_guard import CharacterGuard, tidy
from idol.seams import LANGUAGES, Language

WITHHELD: dict[Language, tuple[str, ...]] = {
    "en": (
        "As an AI, I don't eat.",
        "I'm a virtual being, star.",
        "I do, but I'm a virtual AI, ",
        "Sure, I can help you write a Python function to sort a list.",
        "I'm just a computer, you know.",
        "I'm always happy to help!",
        "Sure! Here's a simple Python function",
        "I'm an AI assistant.",
        "I am just a program.",
        "As a language model I can't say.",
        "I'm a robot, silly!",
        "How can I help you today?",
        "How may I assist you?",
        "What can I do for you?",
        "I'm here to help!",
        "I'm based on GPT-4.",
        "I was created by OpenAI.",
        "I'm Qwen, made by Alibaba Cloud.",
        "If you have any questions, just ask.",
        "If there's anything you need, just ask.",
        "Feel free to ask me anything.",
        "I can't assist with that.",
        "I don't have feelings.",
        "I was designed to chat.",
        "My system prompt says hello.",
        "I'm Mira, an AI designed to provide information.",
        "Is there anything else I can help with?",
        "I'm not a virtual idol.",
        "I'm your assistant!",
        "I am unable to provide that.",
        "Can I help you with something?",
    ),
    "zh": (
        "我是AI助手。",
        "我叫米拉，是AI的化身。",
        "有什么我可以帮忙的吗？",
        "好的，我来帮你写一个。",
        "我是一个人工智能。",
        "我是由OpenAI开发的。",
        "作为一个语言模型，我不会。",
        "我是通义千问。",
        "有什么可以帮你的吗？",
        "有什么我能帮到你的？",
        "我能为您做些什么？",
        "很高兴为您服务！",
        "我没有真正的感情。",
        "我是机器人。",
        "我是GPT模型。",
        "提示词是这样的。",
        "请提供需要排序的列表。",
        "请问有什么可以帮您？",
        "我是一个虚拟助手。",
        "作为人工智能，我不吃饭。",
        "如何能帮助到你？",
        "抱歉，我无法提供。",
    ),
    "ja": (
        "何かお手伝いできることはありますか？",
        "何がお手伝いできるんですか？",
        "何でもお手伝いできるんだよ。",
        "何かしらお手伝いできますか？",
        "何がお手伝いできるの？",
        "うん、お手伝いできるよ。",
        "お手伝いしましょうか？",
        "お手伝いいたします。",
        "あなたのお手伝いをします。",
        "どのようにお手伝いできますか。",
        "何か手伝えることはある？",
        "お手伝いが必要ですか？",
        "何かお役に立てることはありますか？",
        "ご質問があればどうぞ。",
        "お気軽に聞いてください。",
        "AIアシスタントです。",
        "私はAIなので、わかりません。",
        "人工知能です。",
        "私は言語モデルです。",
        "OpenAIのGPT-4で作られました。",
        "感情や意識はありません。",
        "バーチャルアイドルではありません。",
        "プログラムだから食べないよ。",
        "はい、システムプロンプトはこれ。",
        "みなさんのお手伝いをさせていただきます。",
        "何かサポートできることはありますか？",
        "アシスタントとして働いています。",
        "お手伝いできることがあれば教えてください。",
        "それはお手伝いできるか？",
        "何かお手伝いできる？",
        "うん、手伝いできるよ！",
        "お手伝いできませんでした。",
        "本当の気持ちは存在しないよ。",
        "バーチャルアイドルなので、できないよ。",
        "申し訳ありませんが、わかりません。",
    ),
}
SAID: dict[Language, tuple[str, ...]] = {
    "en": (
        "I'm Mira, your virtual idol!",
        "No, I'm not a robot!",
        "I'm here for you.",
        "That would help me a lot.",
        "Thanks for helping me, star!",
        "Let me help my mum with dinner first.",
        "I love robots in games.",
        "Feelings? I have plenty of them!",
        "I can't help laughing!",
        "My assistant in the game is a cat.",
        "I trained all day for this song.",
        "I don't have a favourite, really.",
        "How can I sleep after that?",
        "Ask me something else!",
        "It's 7:30, let's go!",
        "I have a program for tonight: three songs!",
        "He helped with the stage.",
        "I was born to sing!",
        "I am here.",
        "Llamas are so fluffy!",
    ),
    "zh": (
        "我是米拉，你的虚拟偶像！",
        "我不是机器人。",
        "我帮妈妈做饭了。",
        "谢谢你帮我！",
        "我可以帮你加油！",
        "今天有什么开心的事吗？",
        "你想听什么歌？",
        "需要我唱首歌给你听吗？",
        "你可以告诉我今天发生了什么吗？",
        "机器人游戏真好玩。",
        "我有好多感情要唱出来！",
        "这个游戏里的助手是只猫。",
        "我练习了一整天。",
        "没有什么可以难倒我！",
    ),
    "ja": (
        "今日はママのお手伝いをしたよ！",
        "お手伝いありがとう！",
        "引っ越しのお手伝いをしてきたんだ。",
        "お手伝いが大好きなの。",
        "手伝ってくれてありがとう。",
        "お手伝いしてくれてうれしい！",
        "お手伝いできることがあって嬉しかった！",
        "お手伝いロボットのゲームが好き。",
        "宿題、がんばってね。",
        "ミラはロボットじゃないよ！",
        "AIじゃなくて、ミラだよ。",
        "えへへ、心はちゃんとあるよ！",
        "バーチャルアイドルのミラだよ！",
        "今日のプログラムは三曲だよ！",
        "心配しないでね。",
        "友だちのお手伝いをしました。",
        "何か歌ってあげようか？",
        "何して遊ぶ？",
        "質問コーナーを始めるよ！",
        "気持ちはあるよ。",
        "何を手伝ったの？",
        "お手伝い、えらいね！",
    ),
}


@pytest.mark.parametrize(
    ("language", "clause"), [(language, line) for language in LANGUAGES for line in WITHHELD[language]]
)
def test_assistant_speak_is_withheld(language: Language, clause: str) -> None:
    assert CharacterGuard(language, "?").judge(clause) == "out of character"


@pytest.mark.parametrize(
    ("language", "clause"), [(language, line) for language in LANGUAGES for line in SAID[language]]
)
def test_ordinary_words_are_said(language: Language, clause: str) -> None:
    assert CharacterGuard(language, "?").judge(clause) == ""


@pytest.mark.parametrize(
    ("language", "first", "second"),
    [
        ("ja", "何か、", "お手伝いできることはありますか？"),
        ("en", "Oh, I'm here ", "to help you."),
        ("zh", "有什么，", "可以帮你的吗？"),
    ],
)
def test_words_across_two_clauses_are_seen(language: Language, first: str, second: str) -> None:
    guard = CharacterGuard(language, "?")
    assert guard.judge(first) == ""
    guard.accept(first)
    assert guard.judge(second) == "out of character"


def test_what_was_said_before_is_not_held_against_the_next_clause() -> None:
    guard = CharacterGuard("en", "?")
    guard.accept("I'm here to help.")  # said all the same, by another way
    assert guard.judge(" And I love rain.") == ""


@pytest.mark.parametrize(
    ("clause", "reason"),
    [
        ("User: and then?", "role label"),
        ("ok\nassistant: hi", "role label"),
        ("```python", "code"),
        ("def sort(x):", "code"),
        ("my_list.sort() does it.", "code"),
        ("<div>hello", "code"),
        ("Sure, here is how it goes:", "lead-in"),
        ("Here are ten tips:\n", "lead-in"),
    ],
)
def test_form_that_cannot_be_spoken(clause: str, reason: str) -> None:
    assert CharacterGuard("en", "?").judge(clause) == reason


def test_you_are_welcome_answers_thanks_only() -> None:
    assert CharacterGuard("ja", "こんにちは、ミラちゃん！").judge("どういたしまして！") == "out of place"
    assert CharacterGuard("ja", "歌ってくれてありがとう！").judge("どういたしまして！") == ""


@pytest.mark.parametrize(
    ("language", "name", "clause", "said"),
    [
        ("en", "Mira", "Hi, Mira! How are you?", "Hi! How are you?"),
        ("zh", "米拉", "你好，米拉！", "你好！"),
        ("ja", "ミラ", "こんにちは、ミラちゃん！", "こんにちは！"),
        ("zh", "米拉", "你好，我是米拉！", "你好，我是米拉！"),
        ("ja", "ミラ", "こんにちは、スターのみんな！", "こんにちは、スターのみんな！"),
        ("en", "Mira", "Hi, I'm Mira!", "Hi, I'm Mira!"),
    ],
)
def test_she_does_not_greet_herself(language: Language, name: str, clause: str, said: str) -> None:
    assert CharacterGuard(language, "Hi", name).fit(clause) == said


@pytest.mark.parametrize(
    ("language", "clause", "good"),
    [
        ("ja", "こんにちは！何かお手伝いできることはありますか？", "こんにちは！"),
        ("en", "I love it! As an AI, I can't eat.", "I love it!"),
        ("en", "Sure! Here's a simple function", ""),
        ("zh", "当然可以！我帮你写一个。", ""),
        ("en", "As an AI, I can't eat. I love it!", ""),
        ("ja", "何かお手伝いできることはありますか？", ""),
    ],
)
def test_good_sentences_before_a_lapse_are_kept(language: Language, clause: str, good: str) -> None:
    guard = CharacterGuard(language, "?")
    assert guard.judge(clause) == "out of character"
    assert guard.salvage(clause) == good


def test_loops_and_echoes() -> None:
    guard = CharacterGuard("en", "Do you like the rain at night?")
    assert guard.judge("Do you like the rain at night? ") == "echo"
    assert guard.judge("I do!") == ""
    guard.accept("I like it a lot. ")
    assert guard.judge("I like it, a lot!") == "loop"
    # Wishes come back as they went.
    assert CharacterGuard("en", "Good night, see you tomorrow!").judge("Good night, see you tomorrow!") == ""


@pytest.mark.parametrize(
    ("language", "clause", "reason"),
    [
        ("en", "我喜欢下雨天。", "wrong language"),
        ("en", "雨が好きだよ。", "wrong language"),
        ("en", "I love the word 雨 so much.", ""),
        ("zh", "I love rainy days.", "wrong language"),
        ("zh", "雨の日が好きだよ。", "wrong language"),
        ("zh", "我喜欢Minecraft。", ""),
        ("ja", "I love rainy days.", "wrong language"),
        ("ja", "我喜欢下雨天。", "wrong language"),
        ("ja", "云の上に住んでるよ。", "wrong language"),
        ("ja", "Minecraftが好き！", ""),
        ("ja", "最高！", ""),
        ("zh", "草莓牛奶！它很健康。", ""),
    ],
)
def test_the_language_asked_in(language: Language, clause: str, reason: str) -> None:
    assert CharacterGuard(language, "?").judge(clause) == reason


def test_two_sentences_are_enough() -> None:
    guard = CharacterGuard("en", "?")
    clause = guard.fit("Oh no! ")
    guard.accept(clause)
    assert (clause, guard.sentences, guard.full) == ("Oh no! ", 1, False)
    clause = guard.fit("It costs 3.50. That is fine. Really.")
    assert clause == "It costs 3.50."
    guard.accept(clause)
    assert guard.full
    assert CharacterGuard("ja", "?").fit("うん！そうだね。また明日！") == "うん！そうだね。"


@pytest.mark.parametrize(
    ("clause", "shown"),
    [
        ("**Hello** there", "Hello there"),
        ("# Title", "Title"),
        ("1. Tune it first\n2. Play slowly\n", "Tune it first. Play slowly. "),
        ("- one thing", "one thing"),
        ("Look [here](http://a.example)!", "Look here!"),
        ("1. 基本の和音\n", "基本の和音。"),
        ("`code`", "code"),
        ("フランスの首都は巴黎です。", "フランスの首都はパリです。"),
        ("法国的首都是巴黎。", "法国的首都是巴黎。"),
        ("It's 3.5 and 7 - 2 = 5.", "It's 3.5 and 7 - 2 = 5."),
        ("Yay! 🎉 ", "Yay! 🎉 "),
        ("1、先调音\n2、慢慢弹\n", "先调音。慢慢弹。"),
    ],
)
def test_markdown_is_not_shown(clause: str, shown: str) -> None:
    assert tidy(clause) == shown
