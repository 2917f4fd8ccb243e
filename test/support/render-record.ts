import type { RenderRecord } from '@prepaint/contract/outcome/record.ts'

/** The record of a render that went well, but for `changes`. */
export const renderRecord = (changes: Partial<RenderRecord> = {}): RenderRecord => ({
  phases: { slot: 0, tab: 1, navigate: 2, firstResponse: 3, settled: 4, snapshot: 5 },
  capture: 'budget',
  requests: { made: 1, spared: 0, blocked: 0, failed: 0 },
  ...{ troubles: [], consoleErrors: { count: 0, texts: [] }, htmlBytes: 100 },
  ...changes,
})

/** The record of a render with a failed request and an error in the console. */
export const troubledRecord = (changes: Partial<RenderRecord> = {}): RenderRecord =>
  renderRecord({
    requests: { made: 3, spared: 1, blocked: 0, failed: 1 },
    troubles: [{ url: 'https://a.example/x', kind: 'failed', reason: 'status 404' }],
    consoleErrors: { count: 1, texts: ['broken'] },
    ...changes,
  })
