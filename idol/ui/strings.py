"""Every word of the window, in three languages. Keys are the English texts."""

from __future__ import annotations

from PySide6.QtCore import QLocale

_TABLE: dict[str, tuple[str, str]] = {
    "Say something to her…": ("对她说点什么……", "話しかけてみて……"),
    "Send": ("发送", "送信"),
    "Stop": ("停止", "停止"),
    "You": ("你", "あなた"),
    "Loading": ("正在加载", "読み込み中"),
    "Ready": ("就绪", "準備完了"),
    "Thinking": ("思考中", "考え中"),
    "Speaking": ("说话中", "話し中"),
    "Not running": ("未运行", "停止中"),
    "She answers as soon as everything is loaded.": ("加载完成后她就会回答。", "読み込みが終わりしだい答えます。"),
    "stopped": ("已停止", "停止しました"),
    "not answered": ("未回答", "答えません"),
    "failed": ("失败", "失敗"),
    "File": ("文件", "ファイル"),
    "Open avatar…": ("打开角色模型……", "アバターを開く……"),
    "Default avatar": ("默认角色", "標準のアバター"),
    "Quit": ("退出", "終了"),
    "View": ("视图", "表示"),
    "Stage only": ("仅舞台", "ステージのみ"),
    "Overlay": ("性能信息", "計測表示"),
    "Face": ("脸部", "顔"),
    "Bust": ("半身", "上半身"),
    "Full body": ("全身", "全身"),
    "Background": ("背景", "背景"),
    "Dark": ("深色", "ダーク"),
    "Light": ("浅色", "ライト"),
    "Green screen": ("绿幕", "グリーンバック"),
    "Voice": ("声音", "声"),
    "Chinese": ("中文", "中国語"),
    "Japanese": ("日文", "日本語"),
    "English": ("英文", "英語"),
    "Mind": ("语言模型", "言語モデル"),
    "Automatic": ("自动", "自動"),
    "takes effect at the next start": ("下次启动时生效", "次の起動から有効"),
    "Chat": ("对话", "チャット"),
    "Start a new conversation": ("开始新对话", "新しい会話を始める"),
    "Help": ("帮助", "ヘルプ"),
    "About": ("关于", "このアプリについて"),
    "Volume": ("音量", "音量"),
    "Models are missing": ("缺少模型", "モデルがありません"),
    "Fetch now": ("立即下载", "今すぐ取得"),
    "Retry": ("重试", "再試行"),
    "Cancel": ("取消", "キャンセル"),
    "left": ("剩余", "残り"),
    "Avatar": ("角色", "アバター"),
    "Enter sends, Shift+Enter starts a new line, Esc stops her": (
        "回车发送，Shift+回车换行，Esc 停止",
        "Enterで送信、Shift+Enterで改行、Escで停止",
    ),
}

_chosen = "en"


def choose_language(name: str) -> None:
    """``auto`` follows the system; ``en``, ``zh`` and ``ja`` are fixed."""
    global _chosen
    if name == "auto":
        name = QLocale.system().name()[:2]
    _chosen = name if name in ("zh", "ja") else "en"


def tr(text: str) -> str:
    """``text`` in the chosen language; texts without a translation stay as they are."""
    if _chosen == "en" or text not in _TABLE:
        return text
    return _TABLE[text][0 if _chosen == "zh" else 1]
