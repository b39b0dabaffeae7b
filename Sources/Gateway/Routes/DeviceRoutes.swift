import EdgeServer
import Ports
import RoostModel
import RoostProtocol

/// `/v1/devices`: where a user is logged in, and what is pushed where.
struct DeviceRoutes: Sendable {
    let desk: SessionDesk
    private var backend: Backend { desk.backend }

    var routes: [Route] {
        [
            .user(.get, "/v1/devices", devices),
            .user(.delete, "/v1/devices/{deviceId}", deleteDevice),
            .user(.put, "/v1/devices/current/push", body: .required, setPushAddress),
            .user(.delete, "/v1/devices/current/push", removePushAddress),
        ]
    }

    private func devices(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let devices = try await backend.ask { try await backend.accounts.devices(of: caller.userID) }
        return .json { writer in
            writer.object { writer in
                writer.key("items")
                writer.array(devices) { $0.device($1, isCurrent: $1.id == caller.deviceID) }
            }
        }
    }

    private func deleteDevice(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let device = try request.deviceID
        guard try await desk.revoke(device, of: caller.userID) else { throw .notFound }
        return .noContent
    }

    private func setPushAddress(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        let address = try PushInput(try JSONBody(request.body)).address
        let isLive = try await backend.ask {
            try await backend.accounts.setPushAddress(address, of: caller.deviceID, ownedBy: caller.userID)
        }
        guard isLive else { throw RoostError(.unauthenticated) }
        return .noContent
    }

    private func removePushAddress(_ request: RequestContext, _ caller: Caller) async throws(RoostError) -> HTTPResponse {
        try await backend.ask {
            try await backend.accounts.removePushAddress(of: caller.deviceID, ownedBy: caller.userID)
        }
        return .noContent
    }
}
