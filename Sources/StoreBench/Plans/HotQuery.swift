/// A statement of the stores with the parameters that it is explained with.
public struct HotQuery: Sendable {
    /// The statement's name.
    let name: String
    let purpose: String
    /// As in `EXECUTE name(…)`.
    let parameters: @Sendable (PlanSample) -> [String]
    /// What tells apart two uses of one statement.
    var variant: String = ""

    init(
        _ name: String, _ purpose: String, variant: String = "", _ parameters: @escaping @Sendable (PlanSample) -> [String]
    ) {
        self.name = name
        self.purpose = purpose
        self.variant = variant
        self.parameters = parameters
    }

    var title: String { variant.isEmpty ? name : "\(name), \(variant)" }

    /// What people's requests ask.
    static let pooled: [HotQuery] =
        messages + lists + members + search + accounts

    private static let messages: [HotQuery] = [
        HotQuery("history", "a page of messages", variant: "newest") { [$0.me, $0.here, "'9223372036854775807'", "51", "1"] },
        HotQuery("history", "a page of messages", variant: "before") { [$0.me, $0.here, "\($0.middle)", "51", "1"] },
        HotQuery("history", "a page of messages", variant: "after") { [$0.me, $0.here, "\($0.middle)", "1", "51"] },
        HotQuery("history", "a page of messages", variant: "around") { [$0.me, $0.here, "\($0.middle)", "26", "26"] },
        HotQuery("message", "one message") { [$0.me, $0.here, "\($0.middle)"] },
        HotQuery("changes", "catching up", variant: "the last 20") { [$0.me, $0.here, "\(max(0, $0.head - 20))", "51"] },
        HotQuery("changes", "catching up", variant: "from half") { [$0.me, $0.here, "\($0.middle)", "51"] },
        HotQuery("others", "status of one's own messages") { [$0.me, PlanSample.array([$0.conversation], of: "uuid")] },
        HotQuery("receipts", "who has seen a message") { [$0.me, $0.here, "\($0.middle)"] },
        HotQuery("counts", "unread messages and mentions") { [$0.me, $0.here] },
    ]

    private static let now = "'2100-01-01T00:00:00Z'"

    private static let lists: [HotQuery] = [
        HotQuery("conversation", "one conversation's view") { [$0.me, $0.here] },
        HotQuery("conversations first", "the list") { [$0.me, "51", "false"] },
        HotQuery("conversations first", "the list", variant: "archived") { [$0.me, "51", "true"] },
        // As if everything was there when the first page was read.
        HotQuery("conversations later", "the list's further pages") { sample in
            [sample.me, "51", "false", "'4000000000:4000000000:'", now, "false", now, PlanSample.text(sample.conversation)]
        },
        HotQuery("sync", "what is new", variant: "nothing") { [$0.me, "'4000000000'", "NULL", "51"] },
        HotQuery("sync", "what is new", variant: "from scratch") { [$0.me, "'0'", "NULL", "51"] },
        HotQuery("sync removed", "where one is no member any more") { [$0.me, "'1'"] },
        HotQuery("channels", "all channels") { [$0.me, "NULL", "NULL", "51"] },
        HotQuery("channels", "all channels", variant: "later page") { [$0.me, "'m'", $0.here, "51"] },
        HotQuery("channel search", "channels by a word") {
            [$0.me, "NULL", "NULL", "51", PlanSample.text($0.channelWord), PlanSample.text($0.channelWord + "\u{10FFFF}")]
        },
    ]

    private static let members: [HotQuery] = [
        HotQuery("standing", "rights") { [$0.me, $0.here] },
        HotQuery("is member", "rights") { [$0.me, $0.here] },
        HotQuery("memberships", "at the start of a socket") { [$0.me] },
        HotQuery("members", "a page of members") { [$0.me, $0.here, "NULL", "NULL", "NULL", "51"] },
        HotQuery("members", "a page of members", variant: "later page") {
            [$0.me, $0.here, "'2020-01-01T00:00:00Z'", "0", PlanSample.text($0.other), "51"]
        },
        HotQuery("member", "one member") { [$0.me, $0.here, PlanSample.text($0.other)] },
        HotQuery("find direct", "the conversation of a pair") {
            [PlanSample.text(min($0.user, $0.other)), PlanSample.text(max($0.user, $0.other))]
        },
        HotQuery("change settings", "mute, pin, archive") { [$0.me, $0.here, "true", "NULL", "true", "NULL", now] },
    ]

    private static let search: [HotQuery] = [
        HotQuery("search scope", "which conversations are searched") { [$0.me, "NULL"] },
        HotQuery("search prepared", "by words", variant: "everywhere") {
            [$0.me, $0.searchQueries(everywhere: true), "NULL", "NULL", "NULL", "21"]
        },
        HotQuery("search prepared", "by words", variant: "one conversation") {
            [$0.me, $0.searchQueries(everywhere: false), "NULL", "NULL", "NULL", "21"]
        },
        HotQuery("search unprepared", "what has just been written") {
            [$0.me, PlanSample.array($0.conversations, of: "uuid"), "NULL", "NULL", "NULL", "200"]
        },
        HotQuery("unprepared", "conversations whose words are to be prepared") { _ in ["50"] },
        HotQuery("unprepared quiet", "the same, of those that went quiet") { _ in ["50"] },
        HotQuery("search changed", "messages whose words are to be prepared") { [$0.here, "\(max(0, $0.head - 50))", "500"] },
    ]

    private static let accounts: [HotQuery] = [
        HotQuery("users", "profiles") { [PlanSample.array([$0.user, $0.other], of: "uuid")] },
        HotQuery("credentials", "login") { [PlanSample.text($0.email)] },
        HotQuery("user with email", "lookup") { [PlanSample.text($0.email)] },
        HotQuery("directory", "the directory") { [$0.me, "NULL", "NULL", "51"] },
        HotQuery("directory", "the directory", variant: "later page") { [$0.me, "'m'", $0.me, "51"] },
        HotQuery("directory search", "the directory by a word") {
            [$0.me, "NULL", "NULL", "51", PlanSample.text($0.name), PlanSample.text($0.name + "\u{10FFFF}")]
        },
        HotQuery("visible", "whom one may see") { [PlanSample.array([$0.user, $0.other], of: "uuid"), $0.me] },
        HotQuery("partners", "who is told about one's presence") { [$0.me, "1000"] },
        HotQuery("member ids", "who is told about a conversation") { [$0.here, "1000"] },
        HotQuery("last seen", "when people were last seen") { [PlanSample.array([$0.user, $0.other], of: "uuid")] },
        HotQuery("record last seen", "a batch of leavings") {
            [
                PlanSample.array([$0.user, $0.other], of: "uuid"),
                PlanSample.array(["2026-01-01", "2026-01-01"], of: "timestamptz"),
            ]
        },
        HotQuery("devices", "one's devices") { [$0.me] },
        HotQuery("revocations", "devices logged out elsewhere") { _ in [now] },
        HotQuery("rotate", "a new access token") { _ in ["'a'", "'b'", now, now, "'10 s'"] },
        HotQuery("contacts", "one's contacts") { [$0.me, "NULL", "NULL", "51"] },
        HotQuery("contact", "one contact") { [$0.me, PlanSample.text($0.other)] },
        HotQuery("blocks", "whom one blocks") { [$0.me, "NULL", "NULL", "51"] },
        HotQuery("is blocked", "rights") { [$0.me, PlanSample.text($0.other)] },
        HotQuery("blocked", "rights, of several") { [$0.me, PlanSample.array([$0.other], of: "uuid")] },
    ]

    /// What the actors' journal asks and writes. The writes end without an open fence: what they would write is not written, but all that
    /// they look up is looked up.
    static let journal: [HotQuery] = [
        HotQuery("load", "a conversation becomes active") { [PlanSample.array([$0.conversation], of: "uuid")] },
        HotQuery("stored", "was this sent before?") {
            ["'{0}'", PlanSample.array([$0.conversation], of: "uuid"), PlanSample.array([$0.user], of: "uuid"), "'{seed-0-1}'"]
        },
        HotQuery("targets", "messages that commands are about") {
            ["'{0}'", PlanSample.array([$0.conversation], of: "uuid"), "'{\($0.middle)}'"]
        },
        HotQuery("recent", "what a dead owner has not announced") { _ in
            ["'{\((0..<32).map { "\($0)" }.joined(separator: ","))}'", "'2000-01-01T00:00:00Z'"]
        },
        HotQuery("commit7", "new messages, positions and marks") { sample in
            let (here, me) = (PlanSample.array([sample.conversation], of: "uuid"), PlanSample.array([sample.user], of: "uuid"))
            let next = "'{\(sample.head + 1)}'"
            return [
                nobody, "'0'", here, next, here, me, next, "ARRAY[\(now)]::timestamptz[]", "'{0}'", "'{explained}'", "'{text}'",
                "'{0}'", here, me, next, next, "ARRAY[\(now)]::timestamptz[]", here,
            ]
        },
        HotQuery("settle", "a conversation has gone quiet") {
            [nobody, "'0'", PlanSample.array([$0.conversation], of: "uuid"), "'{\($0.head)}'"]
        },
        HotQuery("commit changes", "everything else that is done to a conversation") { sample in
            [
                nobody, "'0'",
                PlanSample.array(
                    [
                        """
                        {"id":"\(sample.conversation)","first":\(sample.head + 1),"locks":true,
                        "changed":[{"seq":1,"change":\(sample.head + 1),"text":"x","edited":1}]}
                        """
                    ], of: "text"),
            ]
        },
    ]

    /// The incarnation whose fence the explainer opens, within a transaction that is rolled back.
    static let nobody = "'00000000-0000-7000-8000-000000000000'"
}
