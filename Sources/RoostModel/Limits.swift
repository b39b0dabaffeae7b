/// The contract's bounds, all inclusive.
public enum Limits {
    public static let jsonBodyBytes = 64 * 1024
    public static let socketMessageBytes = 64 * 1024
    public static let jsonDepth = 32
    public static let textGraphemes = 10_000
    public static let textBytes = 32 * 1024
    public static let titleGraphemes = 120
    public static let nameGraphemes = 80
    public static let aboutGraphemes = 500
    public static let reactionsPerMessage = 30
    public static let groupMembers = 100
    public static let channelMembers = 10_000
    /// Users named in one request.
    public static let mentions = 100
    public static let searchGraphemes = 200
    /// In one request that names users.
    public static let usersNamed = 1_000
    public static let clientIDCharacters = 64
    public static let emailBytes = 254
    public static let passwordBytes = 8...1024
    public static let pageDefault = 50
    public static let pageMaximum = 200
    public static let countCap = 999
    public static let watchedUsers = 500
}
