import type { DigestView, InspectionView, SideView } from '@prepaint/contract/api/inspection.ts'
import type { Inspection } from '@prepaint/pages/inspection/inspections.ts'
import type { NoSide, Side } from '@prepaint/pages/inspection/side.ts'
import type { Digest } from '@prepaint/pages/store/page-digests.ts'

export function inspectionView(inspection: Inspection): InspectionView {
  const { id, path, variant, state, reason, requestedAt, finishedAt, crawler, person } = inspection
  return {
    id,
    path,
    variant,
    state,
    reason,
    requested_at: requestedAt.toISOString(),
    finished_at: finishedAt?.toISOString() ?? null,
    crawler: crawler === null ? null : sideView(crawler),
    person: person === null ? null : sideView(person),
  }
}

export function digestView(digest: Digest): DigestView {
  const { renderedAt, status, htmlBytes, etag, facts } = digest
  return { rendered_at: renderedAt.toISOString(), status, html_bytes: htmlBytes, etag, facts }
}

function sideView(side: Side | NoSide): SideView {
  if ('reason' in side) {
    return {
      reason: side.reason,
      status: null,
      url: null,
      loadedMs: null,
      isCut: false,
      facts: null,
      troubles: [],
      requests: { made: 0, blocked: 0, failed: 0 },
      consoleErrors: { count: 0, texts: [] },
    }
  }
  const { status, url, loadedMs, isCut, facts, troubles, requests, consoleErrors } = side
  return { reason: null, status, url, loadedMs, isCut, facts, troubles, requests, consoleErrors }
}
