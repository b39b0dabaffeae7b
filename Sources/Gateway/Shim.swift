import RoostModel
enum EmailAddress { static func normalised(_ t: String, field: String) throws(RoostError) -> String { t } }
enum Name { static func normalised(_ t: String, field: String) throws(RoostError) -> String { t } }
enum PhoneNumber { static func normalised(_ t: String, field: String) throws(RoostError) -> String { t } }
enum AboutText { static func normalised(_ t: String, field: String) throws(RoostError) -> String { t } }
enum Password { static func normalised(_ t: String) throws(RoostError) -> String { t } }
