/**
 * What one page may use up inside the browser; what comes over the wire is
 * limited by the gateway. Far above any honest page: whoever meets one of these
 * is not rendered, and every other page goes on as if nothing had happened.
 */
export type PageLimits = {
  /** Bodies of the page and its frames together, as they are after decompression. */
  unpackedBytes: number
  /** All that Chromium tells us of what the page does and says; the browser's one main thread writes it for all pages. */
  eventBytes: number
  /** Elements in the document and its shadow roots when the snapshot is taken. */
  elements: number
  /** The snapshot as UTF-8. */
  snapshotBytes: number
  /** Resident memory of the page's process. */
  memoryBytes: number
}

const MIB = 1024 * 1024

export const PAGE_LIMITS: PageLimits = {
  unpackedBytes: 128 * MIB,
  eventBytes: 64 * MIB,
  elements: 500_000,
  // The database and every crawler refuse larger ones anyway.
  snapshotBytes: 16 * MIB,
  memoryBytes: 768 * MIB,
}
