import EdgeServer
import RoostModel

/// The operators' page of the admin listener: one document that needs nothing from elsewhere and asks the operators' API for the rest.
/// It holds no secret; the token is typed in and kept by the browser's tab.
enum OperatorsPage {
    static let route = Route.instant(.get, "/") { () throws(RoostError) in
        HTTPResponse(
            status: 200,
            headers: [
                ("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("X-Frame-Options", "DENY"),
                (
                    "Content-Security-Policy",
                    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
                        + "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
                ),
            ], body: .bytes(bytes))
    }

    private static let bytes = Array(document.utf8)

    private static let document = """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Roost operators</title>
        <style>\(style)</style>
        \(body)
        <script>\(script)</script>
        </html>

        """
}
