import CCurl
import Glibc
import Ports
import Runtime

/// One libcurl handle, which keeps its connection. One call at a time: confined to the single thread of ``SMTPTransport``'s pool.
final class SMTPSession: @unchecked Sendable {
    private static let isReady = roost_curl_prepare() == CURLE_OK

    private let server: SMTPTransport.Server
    private let timeout: Duration
    private let trustedRoots: String?
    private var handle: UnsafeMutableRawPointer?

    init(server: SMTPTransport.Server, timeout: Duration, trustedRoots: String?) {
        self.server = server
        self.timeout = timeout
        self.trustedRoots = trustedRoots
    }

    deinit { if let handle { curl_easy_cleanup(handle) } }

    /// Blocks until the server has taken the message, or does not.
    func send(_ message: String, from: String, to recipient: String) throws(MailError) {
        guard Self.isReady, let handle = open() else { throw .temporary(reason: "libcurl cannot be used") }
        let upload = Upload(Array(message.utf8))
        let errors = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
        errors.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        let recipients = curl_slist_append(nil, "<\(recipient)>")
        defer {
            // The connection stays, the pointers of this call do not.
            curl_easy_reset(handle)
            curl_slist_free_all(recipients)
            errors.deallocate()
        }
        guard recipients != nil else { throw .temporary(reason: "out of memory") }

        let milliseconds = Int(timeout / .milliseconds(1))
        let settings = [
            roost_curl_set_text(handle, CURLOPT_URL, server.url),
            roost_curl_set_text(handle, CURLOPT_PROTOCOLS_STR, "smtp,smtps"),
            roost_curl_set_text(handle, CURLOPT_PROXY, ""),
            roost_curl_set_long(
                handle, CURLOPT_USE_SSL, server.requiresTLS ? Int(CURLUSESSL_ALL.rawValue) : Int(CURLUSESSL_TRY.rawValue)),
            roost_curl_set_long(handle, CURLOPT_SSL_VERIFYPEER, 1),
            roost_curl_set_long(handle, CURLOPT_SSL_VERIFYHOST, 2),
            trustedRoots.map { roost_curl_set_text(handle, CURLOPT_CAINFO, $0) } ?? CURLE_OK,
            // Time-outs by signals would hit other threads.
            roost_curl_set_long(handle, CURLOPT_NOSIGNAL, 1),
            roost_curl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, max(1, milliseconds / 3)),
            roost_curl_set_long(handle, CURLOPT_TIMEOUT_MS, max(1, milliseconds)),
            roost_curl_set_text(handle, CURLOPT_MAIL_FROM, "<\(from)>"),
            roost_curl_set_list(handle, CURLOPT_MAIL_RCPT, recipients),
            roost_curl_set_long(handle, CURLOPT_UPLOAD, 1),
            roost_curl_set_transfer(handle, CURLOPT_READFUNCTION, Upload.read),
            roost_curl_set_data(handle, CURLOPT_READDATA, Unmanaged.passUnretained(upload).toOpaque()),
            // Without this, what the server says would go to standard output.
            roost_curl_set_transfer(handle, CURLOPT_WRITEFUNCTION, Upload.drop),
            roost_curl_set_data(handle, CURLOPT_ERRORBUFFER, errors),
        ]
        guard settings.allSatisfy({ $0 == CURLE_OK }) else { throw .temporary(reason: "libcurl does not take its settings") }
        let result = withExtendedLifetime(upload) { curl_easy_perform(handle) }
        guard result != CURLE_OK else { return }
        throw Self.error(result, code: roost_curl_response_code(handle), detail: String(cString: errors))
    }

    private func open() -> UnsafeMutableRawPointer? {
        if handle == nil { handle = curl_easy_init() }
        return handle
    }

    /// What the server says of the recipient or the content will not change; what it says of us (our name, sender, password) is for
    /// the operator to mend, and the mail waits. The words of the server may hold the address: only its number is told.
    private static func error(_ result: CURLcode, code: Int, detail: String) -> MailError {
        let reason = "\(String(cString: curl_easy_strerror(result))), SMTP code \(code)"
        let isOfTheMail = detail.hasPrefix("RCPT failed") || detail.hasPrefix("DATA failed") || result == CURLE_WEIRD_SERVER_REPLY
        return isOfTheMail && (500...599).contains(code) ? .permanent(reason: reason) : .temporary(reason: reason)
    }
}

/// The message on its way through libcurl, which makes dots at line beginnings harmless itself (RFC 5321 §4.5.2).
private final class Upload {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    private func fill(_ buffer: UnsafeMutableRawPointer, _ capacity: Int) -> Int {
        let count = min(capacity, rest.count)
        rest.withUnsafeBytes { if count > 0 { buffer.copyMemory(from: $0.baseAddress!, byteCount: count) } }
        rest = rest.dropFirst(count)
        return count
    }

    static let read: @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int = {
        buffer, size, count, context in
        Unmanaged<Upload>.fromOpaque(context!).takeUnretainedValue().fill(buffer!, size * count)
    }

    static let drop: @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int = {
        _, size, count, _ in size * count
    }
}
