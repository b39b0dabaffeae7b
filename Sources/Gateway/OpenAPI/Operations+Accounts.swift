import RoostModel

extension Operation {
    static let accounts: [Operation] = [
        Operation(
            .post, "/v1/auth/register", .accounts, "Makes an account and logs in; sends a verification mail.",
            body: .request(["email": .email, "password": .password], optional: ["displayName": .name, "device": .deviceInput]),
            .created(.session), problems: [.emailTaken, .weakPassword]),
        Operation(
            .post, "/v1/auth/login", .accounts, "Logs in on a new device.",
            body: .request(["email": .text, "password": .text], optional: ["device": .deviceInput]), .ok(.session),
            problems: [.invalidCredentials, .suspended]),
        Operation(
            .post, "/v1/auth/anonymous", .accounts, "Makes a guest.",
            body: .request(optional: ["displayName": .name, "device": .deviceInput]), .created(.session)),
        Operation(
            .post, "/v1/auth/link", .accounts, "Makes the calling guest a full account, with the same id and chats.",
            body: .request(["email": .email, "password": .password]), .ok(.session),
            problems: [.emailTaken, .weakPassword, .conflict]),
        Operation(
            .post, "/v1/auth/refresh", .accounts, "Spends a refresh token for the next pair of tokens.",
            body: .request(["refreshToken": .text]), .ok(.session), problems: [.unauthenticated, .tokenReused]),
        Operation(.post, "/v1/auth/logout", .accounts, "Logs this device out.", .noContent),
        Operation(
            .post, "/v1/auth/password/forgot", .accounts, "Mails a link to choose a new password, if there is such an account.",
            body: .request(["email": .text]), .accepted),
        Operation(
            .post, "/v1/auth/password/reset", .accounts, "Sets a new password with a mail's token; logs all devices out.",
            body: .request(["token": .text, "newPassword": .password]), .noContent, problems: [.tokenInvalid, .weakPassword]),
        Operation(
            .post, "/v1/auth/password/change", .accounts, "Sets a new password; logs the other devices out.",
            body: .request(["currentPassword": .text, "newPassword": .password]), .noContent,
            problems: [.wrongPassword, .weakPassword, .guestNotAllowed]),
        Operation(
            .post, "/v1/auth/email/verify", .accounts, "Proves the email with a mail's token.",
            body: .request(["token": .text]), .noContent, problems: [.tokenInvalid]),
        Operation(
            .post, "/v1/auth/email/resend", .accounts, "Sends the verification mail again.", .noContent,
            problems: [.guestNotAllowed]),
        Operation(.get, "/v1/devices", .accounts, "The devices that are logged in.", .ok(.items(of: .device))),
        Operation(.delete, "/v1/devices/{deviceId}", .accounts, "Logs a device out.", .noContent),
        Operation(
            .put, "/v1/devices/current/push", .accounts, "Sets where this device gets push notifications.",
            body: .request(
                ["provider": .words(PushProvider.self), "token": .text(1...2_048)],
                optional: [
                    "topic": .text, "environment": .words("production", "sandbox"),
                    "keys": .request(["p256dh": .text, "auth": .text]),
                ]),
            .noContent),
        Operation(.delete, "/v1/devices/current/push", .accounts, "No push notifications to this device any more.", .noContent),
    ]
}
