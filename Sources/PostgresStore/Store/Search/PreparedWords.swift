import RoostModel

/// How words are kept, for whoever fills a database in bulk or looks at how it searches.
package enum PreparedWords {
    /// What `message_words` holds of a text in a conversation; empty where there is nothing to find it by.
    ///
    /// - Parameter words: as ``SearchWords/index(_:)`` gives them.
    package static func stored(_ words: [String], of conversation: ConversationID) -> [String] {
        let mark = SearchMark(conversation)
        return words.map(mark.word)
    }

    /// A query as the statement `search prepared` takes it, one of `tsquery`'s texts for each conversation.
    package static func queries(_ query: String, in conversations: [ConversationID]) -> [String] {
        let terms = SearchWords.query(query)
        return conversations.map { SearchMark($0).tsquery(terms) }
    }
}
