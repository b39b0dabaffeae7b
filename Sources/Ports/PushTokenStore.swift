import RoostModel

/// Where devices are pushed to.
public protocol PushTokenStore: Sendable {
    /// Replaces the device's push address; whichever other device had the same token loses it. False where the user has no such
    /// live device.
    func setPushAddress(_ address: PushAddress, of device: DeviceID, ownedBy user: UserID) async throws(StoreError) -> Bool

    func removePushAddress(of device: DeviceID, ownedBy user: UserID) async throws(StoreError)

    /// The addresses of a user's live devices.
    func pushAddresses(of user: UserID) async throws(StoreError) -> [DeviceID: PushAddress]
}
