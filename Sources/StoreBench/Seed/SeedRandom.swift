import Glibc
import LoadCore

extension SeededRandom {
    /// A stream of its own for each part, so that one part's numbers do not depend on another's.
    init(seed: UInt64, stream: UInt64) {
        self.init(seed: seed &* 0x9E37_79B9 &+ stream &* 0xD1B5_4A32_D192_ED03)
        _ = next()
    }

    /// 0 ..< 1
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

    mutating func happens(_ probability: Double) -> Bool { unit() < probability }

    /// 0 ..< `count`
    mutating func index(_ count: Int) -> Int { Int(next() % UInt64(count)) }

    mutating func element<Element>(of array: [Element]) -> Element { array[index(array.count)] }
}

/// Ranks 0 ..< `count`, rank r with a weight of (r + 1)^-`exponent`.
struct Zipf {
    private let sums: [Double]

    init(count: Int, exponent: Double) {
        var sum = 0.0
        sums = Self.weights(count: count, exponent: exponent).map { weight in
            sum += weight
            return sum
        }
    }

    static func weights(count: Int, exponent: Double) -> [Double] {
        (1...count).map { pow(Double($0), -exponent) }
    }

    func rank(_ random: inout SeededRandom) -> Int {
        let wanted = random.unit() * sums[sums.count - 1]
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > wanted { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
