// Tells Node once when a script has put text into the page: a page that has more than its markup is probably no empty shell.
if (window === window.top) {
  const { MutationObserver } = window
  const FOLLOWING = Node.DOCUMENT_POSITION_FOLLOWING
  const WITH_TEXT = /\S/
  const SILENT = /^(?:SCRIPT|STYLE|NOSCRIPT|TEMPLATE|TITLE|LINK|META)$/
  let isParsing = true
  /** The last node that earlier records told of: the parser adds behind it. @type {Node | null} */
  let last = null
  /** @param {Node} node */
  const hasText = (node) => !SILENT.test(node.nodeName) && WITH_TEXT.test(node.textContent ?? '')
  /** @param {MutationRecord} record */
  const isByParser = ({ target, removedNodes, nextSibling }) =>
    isParsing &&
    removedNodes.length === 0 &&
    nextSibling === null &&
    // Exactly: what holds the last node is still open.
    (last === null || target.compareDocumentPosition(last) !== FOLLOWING)
  /** @param {MutationRecord} record */
  const isByScript = (record) => {
    const { type, target, addedNodes } = record
    if (isByParser(record)) return false
    if (type === 'characterData') return WITH_TEXT.test(target.nodeValue ?? '')
    if (SILENT.test(target.nodeName)) return false
    for (let at = 0; at < addedNodes.length; at++)
      if (hasText(/** @type {Node} */ (addedNodes[at]))) return true
    return false
  }
  /** @param {MutationRecord[]} records */
  const look = (records) => {
    for (let at = 0; at < records.length; at++) {
      if (!isByScript(/** @type {MutationRecord} */ (records[at]))) continue
      observer.disconnect()
      report('wrote')
      return
    }
    const added = records[records.length - 1]?.addedNodes
    if (added !== undefined && added.length > 0) last = /** @type {Node} */ (added[added.length - 1])
  }
  const observer = new MutationObserver(look)
  observer.observe(document, { subtree: true, childList: true, characterData: true })
  nativeListen.call(document, 'readystatechange', () => {
    if (!isParsing) return
    // What the parser did last is not told yet.
    look(observer.takeRecords())
    isParsing = false
  })
}
