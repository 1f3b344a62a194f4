"""Every word of the window, in three languages. Keys are the English texts."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from idol.ui.strings_terms import TERMS

_TABLE: dict[str, tuple[str, str]] = {
    **TERMS,
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
    "Open animation…": ("打开动画……", "アニメーションを開く……"),
    "Stop the animation": ("停止动画", "アニメーションを止める"),
    "Animation": ("动画", "アニメーション"),
    "Avatars": ("角色", "アバター一覧"),
    "Used lately": ("最近使用", "最近使ったもの"),
    "the file is gone": ("文件已不存在", "ファイルがありません"),
    "About this avatar…": ("关于此角色……", "このアバターについて……"),
    "Quit": ("退出", "終了"),
    "View": ("视图", "表示"),
    "Stage only": ("仅舞台", "ステージのみ"),
    "Overlay": ("性能信息", "計測表示"),
    "Face": ("脸部", "顔"),
    "Bust": ("半身", "上半身"),
    "Full body": ("全身", "全身"),
    "Camera": ("镜头", "カメラ"),
    "Nearer": ("拉近", "近づく"),
    "Further": ("拉远", "離れる"),
    "Round to the left": ("向左环绕", "左へ回る"),
    "Round to the right": ("向右环绕", "右へ回る"),
    "Higher": ("升高", "上から"),
    "Lower": ("降低", "下から"),
    "Move her left": ("角色左移", "左へ動かす"),
    "Move her right": ("角色右移", "右へ動かす"),
    "Move her up": ("角色上移", "上へ動かす"),
    "Move her down": ("角色下移", "下へ動かす"),
    "Reset the camera": ("重置镜头", "カメラを戻す"),
    "Lighting": ("灯光", "照明"),
    "Studio": ("影棚", "スタジオ"),
    "Soft": ("柔和", "ソフト"),
    "Evening": ("傍晚", "夕暮れ"),
    "Neon": ("霓虹", "ネオン"),
    "Background": ("背景", "背景"),
    "Dark": ("深色", "ダーク"),
    "Light": ("浅色", "ライト"),
    "Colour…": ("颜色……", "色を選ぶ……"),
    "Picture": ("图片", "画像"),
    "Choose a picture…": ("选择图片……", "画像を選ぶ……"),
    "Transparent": ("透明", "透明"),
    "Green screen": ("绿幕", "グリーンバック"),
    "Blue screen": ("蓝幕", "ブルーバック"),
    "Magenta screen": ("品红幕", "マゼンタバック"),
    "This screen gives the window no transparency, so it stays black behind her. Choose a chroma key instead.": (
        "此屏幕不支持透明窗口，角色身后会显示为黑色。请改用绿幕等色键背景。",
        "この画面では窓を透明にできないため、背後は黒になります。グリーンバックなどを選んでください。",
    ),
    "No compositor runs on this desktop: the screen shows black behind her. A capture that reads the window itself "
    "with its transparency still works; otherwise start a compositor, or choose a chroma key.": (
        "此桌面没有运行合成器：屏幕上角色身后显示为黑色。直接读取窗口透明度的捕获仍然可用；否则请启动合成器或使用色键背景。",
        "このデスクトップではコンポジターが動いていないため、画面では背後が黒になります。窓の透明度を直接読む取り込みは"
        "使えます。そうでなければコンポジターを起動するか、グリーンバックなどを選んでください。",
    ),
    "What the stage remembers could not be saved": ("无法保存舞台的记录", "ステージの記録を保存できませんでした"),
    "Close": ("关闭", "閉じる"),
    "About this avatar": ("关于此角色", "このアバターについて"),
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


def translate_dialogs(application: QCoreApplication) -> None:
    """Qt's own dialogues, for files and colours, speak the chosen language too, where Qt came with it."""
    name = {"zh": "qtbase_zh_CN", "ja": "qtbase_ja"}.get(_chosen)
    translator = QTranslator(application)
    if name and translator.load(name, QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)):
        application.installTranslator(translator)


def tr(text: str) -> str:
    """``text`` in the chosen language; texts without a translation stay as they are."""
    if _chosen == "en" or text not in _TABLE:
        return text
    return _TABLE[text][0 if _chosen == "zh" else 1]
