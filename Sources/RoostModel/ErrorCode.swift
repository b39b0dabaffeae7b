/// The stable words that stand in the `code` of a problem (docs/protocol.md); each has one HTTP status.
public enum ErrorCode: String, Sendable, CaseIterable, Codable {
    case malformed, badCursor, badParameter
    case unauthenticated, tokenExpired, invalidCredentials, tokenReused
    case forbidden, notMember, blocked, readOnly, suspended, guestNotAllowed, profileIncomplete, wrongPassword
    case notFound, methodNotAllowed, tooLarge, unsupportedMediaType, headersTooLarge, requestTimeout
    case emailTaken, clientIdReused, alreadyContact, memberLimit, deleteWindowClosed, reactionLimit, messageDeleted
    case mediaNotReady, planOutdated, conflict
    case validationFailed, weakPassword, emptyMessage, emptyFile, tokenInvalid, cannotAddSelf, cannotChatWithSelf, notAGroup
    case rateLimited, unavailable
    /// Always a bug.
    case internalError

    public var status: Int {
        switch self {
        case .malformed, .badCursor, .badParameter: 400
        case .unauthenticated, .tokenExpired, .invalidCredentials, .tokenReused: 401
        case .forbidden, .notMember, .blocked, .readOnly, .suspended, .guestNotAllowed, .profileIncomplete, .wrongPassword: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .requestTimeout: 408
        case .emailTaken, .clientIdReused, .alreadyContact, .memberLimit, .deleteWindowClosed, .reactionLimit, .messageDeleted,
            .mediaNotReady, .planOutdated, .conflict:
            409
        case .tooLarge: 413
        case .unsupportedMediaType: 415
        case .headersTooLarge: 431
        case .validationFailed, .weakPassword, .emptyMessage, .emptyFile, .tokenInvalid, .cannotAddSelf, .cannotChatWithSelf,
            .notAGroup:
            422
        case .rateLimited: 429
        case .internalError: 500
        case .unavailable: 503
        }
    }

    /// Whether the same request may succeed later.
    public var isRetryable: Bool {
        switch status {
        case 429, 503: true
        default: false
        }
    }

    /// A short sentence for people, the same for every occurrence (RFC 9457 `title`).
    public var title: String {
        switch self {
        case .malformed: "The request is not well formed"
        case .badCursor: "The cursor is not valid"
        case .badParameter: "A query parameter is not valid"
        case .unauthenticated: "Authentication is required"
        case .tokenExpired: "The access token has expired"
        case .invalidCredentials: "The email or password is wrong"
        case .tokenReused: "The refresh token was used before"
        case .forbidden: "This is not allowed"
        case .notMember: "Only members may do this"
        case .blocked: "Messages between these users are blocked"
        case .readOnly: "The conversation takes no more messages"
        case .suspended: "The account is suspended"
        case .guestNotAllowed: "Guests may not do this"
        case .profileIncomplete: "The profile must be completed first"
        case .wrongPassword: "The password is wrong"
        case .notFound: "Not found"
        case .methodNotAllowed: "The method is not allowed here"
        case .tooLarge: "The request is too large"
        case .unsupportedMediaType: "The content type is not supported"
        case .headersTooLarge: "The request headers are too large"
        case .requestTimeout: "The request took too long to arrive"
        case .emailTaken: "The email is in use"
        case .clientIdReused: "The client id was used for another message"
        case .alreadyContact: "The user is a contact already"
        case .memberLimit: "The conversation is full"
        case .deleteWindowClosed: "The message can no longer be deleted for everyone"
        case .reactionLimit: "The message has too many different reactions"
        case .messageDeleted: "The message was deleted"
        case .mediaNotReady: "The media is not ready"
        case .planOutdated: "The plan is out of date"
        case .conflict: "The state does not allow this now"
        case .validationFailed: "Some fields are not valid"
        case .weakPassword: "The password is too short or too long"
        case .emptyMessage: "The message is empty"
        case .emptyFile: "The file is empty"
        case .tokenInvalid: "The token is not valid"
        case .cannotAddSelf: "You cannot add yourself"
        case .cannotChatWithSelf: "You cannot chat with yourself"
        case .notAGroup: "This is not a group"
        case .rateLimited: "Too many requests"
        case .unavailable: "The service is unavailable for the moment"
        case .internalError: "Something went wrong"
        }
    }
}

/// What is wrong with one field of a request.
public struct FieldFault: Hashable, Sendable {
    public enum Code: String, Sendable { case required, invalid, tooLong, unknown }

    public let field: String
    public let code: Code

    public init(_ field: String, _ code: Code) {
        self.field = field
        self.code = code
    }
}

/// The error that clients see: an RFC 9457 problem without its wire form.
public struct RoostError: Error, Hashable, Sendable, CustomStringConvertible {
    public let code: ErrorCode
    /// For people; says nothing of what the caller may not see.
    public let detail: String
    public let fields: [FieldFault]
    /// Seconds, for `rateLimited` and `unavailable`.
    public let retryAfter: Int?

    public init(_ code: ErrorCode, _ detail: String = "", fields: [FieldFault] = [], retryAfter: Int? = nil) {
        self.code = code
        self.detail = detail
        self.fields = fields
        self.retryAfter = retryAfter ?? (code.isRetryable ? 1 : nil)
    }

    public static func invalid(_ field: String, _ code: FieldFault.Code) -> RoostError {
        RoostError(.validationFailed, fields: [FieldFault(field, code)])
    }

    public static let notFound = RoostError(.notFound)
    public static let unavailable = RoostError(.unavailable)

    public var description: String { detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)" }
}
