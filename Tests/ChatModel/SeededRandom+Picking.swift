import TestSupport

extension SeededRandom {
    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<max(1, bound), using: &self) }

    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    mutating func pick<Element>(_ items: [Element]) -> Element? { items.isEmpty ? nil : items[below(items.count)] }
}
