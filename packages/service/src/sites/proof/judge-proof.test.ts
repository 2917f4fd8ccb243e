import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { expireProof, GRACE_MS, judgeProof, NOT_ASKED, nextLookMs, type ProofState } from './judge-proof.ts'
import type { ProofLook } from './look-for-proof.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const START_MS = Date.UTC(2026, 10, 15)
const at = (afterMs: number, speed = 1) => ({ nowMs: START_MS + afterMs, speed })

const found = (method: 'dns' | 'file' | 'meta'): ProofLook => ({ kind: 'found', method })
type Site = Extract<ProofLook, { kind: 'missing' }>['site']
const missing = (site: Site, isRecordAbsent = true): ProofLook => ({
  kind: 'missing',
  error: 'none',
  isRecordAbsent,
  site,
})
const asked = (reason: ProofState['reason']): ProofState => ({
  ...NOT_ASKED,
  state: 'asked',
  served: false,
  reason,
  askedAtMs: START_MS,
})
const proven = (method: ProofState['method']): ProofState => ({ ...NOT_ASKED, state: 'proven', method })
const shown = ({ state, served, method, error }: ProofState) => [state, served, method, error]

describe('a proof that is asked for', () => {
  it('serves the domain once it is found', () => {
    for (const method of ['dns', 'file', 'meta'] as const) {
      const after = judgeProof(asked('required'), found(method), at(0))
      assert.deepEqual(shown(after), ['proven', true, method, null])
    }
  })

  it('says why it was not found', () => {
    assert.deepEqual(shown(judgeProof(asked('takeover'), missing('here'), at(0))), [
      'asked',
      false,
      null,
      'none',
    ])
  })

  it('of a name that another account had stays asked where the name leads here, or may do so', () => {
    assert.equal(judgeProof(asked('former'), missing('here'), at(0)).reason, 'takeover')
    const unknown = judgeProof(asked('former'), missing('unknown', false), at(0))
    assert.deepEqual([unknown.reason, unknown.served], ['former', false])
  })

  it('of a name that another account had is asked for no longer where the name does not lead here', () => {
    for (const site of ['elsewhere', 'none', 'silent'] as const) {
      assert.deepEqual(shown(judgeProof(asked('former'), missing(site), at(0))), [
        'not-asked',
        true,
        null,
        null,
      ])
    }
  })

  it('leaves a domain of before unserved when its 30 days are over, and not a millisecond earlier', () => {
    const before: ProofState = { ...asked('required'), served: true, deadlineMs: START_MS + GRACE_MS }
    assert.equal(expireProof(before, START_MS + GRACE_MS - 1), before)
    assert.equal(expireProof(before, START_MS + GRACE_MS).served, false)
    assert.equal(GRACE_MS, 30 * DAY_MS)
  })
})

describe('a proof that was found', () => {
  it('is lost when it is missing twice, a day apart, and the domain is served on', () => {
    const first = judgeProof(proven('dns'), missing('elsewhere'), at(0))
    assert.deepEqual(shown(first), ['proven', true, 'dns', 'none'])
    const early = judgeProof(first, missing('elsewhere'), at(DAY_MS - 1))
    assert.deepEqual(shown(early), ['proven', true, 'dns', 'none'])
    const lost = judgeProof(early, missing('elsewhere'), at(DAY_MS))
    assert.deepEqual(shown(lost), ['lost', true, 'dns', 'none'])
    assert.deepEqual(shown(judgeProof(lost, found('file'), at(DAY_MS))), ['proven', true, 'file', null])
  })

  it('that is there again in between is not lost', () => {
    const missed = judgeProof(proven('dns'), missing('elsewhere'), at(0))
    const again = judgeProof(missed, found('dns'), at(DAY_MS / 2))
    assert.equal(judgeProof(again, missing('elsewhere'), at(DAY_MS)).state, 'proven')
  })

  it('is not missed where nobody can say: name servers or a site that do not answer', () => {
    assert.equal(judgeProof(proven('dns'), missing('elsewhere', false), at(0)).missedAtMs, null)
    for (const site of ['silent', 'unknown'] as const)
      assert.equal(judgeProof(proven('file'), missing(site), at(0)).missedAtMs, null)
  })

  it('as a file or tag that was missed once stands again once the name leads here', () => {
    const missed = judgeProof(proven('file'), missing('elsewhere'), at(0))
    assert.equal(missed.missedAtMs, START_MS)
    const here = judgeProof(missed, missing('here'), at(DAY_MS))
    assert.deepEqual([...shown(here), here.missedAtMs], ['proven', true, 'file', null, null])
    assert.equal(nextLookMs(here, at(DAY_MS)), 7 * DAY_MS)
  })

  it('as a file or tag stands as long as the name leads here; a record must stay', () => {
    for (const method of ['file', 'meta'] as const) {
      const after = judgeProof(proven(method), missing('here'), at(0))
      assert.deepEqual([...shown(after), after.missedAtMs], ['proven', true, method, null, null])
    }
    assert.equal(judgeProof(proven('dns'), missing('here'), at(0)).missedAtMs, START_MS)
  })

  it('by live requests or by the operator is not missed', () => {
    for (const method of ['traffic', 'operator'] as const) {
      assert.deepEqual(shown(judgeProof(proven(method), missing('elsewhere'), at(0))), [
        'proven',
        true,
        method,
        null,
      ])
    }
    assert.equal(judgeProof(proven('operator'), found('dns'), at(0)).method, 'operator')
  })
})

describe('the next look', () => {
  const next = (state: ProofState, afterMs = 0, speed = 1) => nextLookMs(state, at(afterMs, speed))

  it('comes in a week, and in a day after a first miss; a speed divides both', () => {
    assert.equal(next(proven('dns')), 7 * DAY_MS)
    assert.equal(next(proven('file'), 0, 7), DAY_MS)
    const missed = judgeProof(proven('dns'), missing('none'), at(0))
    assert.equal(next(missed), DAY_MS)
    assert.equal(next(missed, DAY_MS / 2), DAY_MS / 2)
    assert.equal(next({ ...missed, missedAtMs: START_MS }, 0, 2), DAY_MS / 2)
    assert.equal(next({ ...missed, state: 'lost' }), 7 * DAY_MS)
  })

  it('comes hourly while name servers do not say whether a record is missing for the second time', () => {
    const missed = judgeProof(proven('dns'), missing('elsewhere'), at(0))
    const unknown = judgeProof(missed, missing('elsewhere', false), at(DAY_MS))
    assert.equal(next(unknown, DAY_MS - 1), 1)
    assert.equal(next(unknown, DAY_MS), 60 * MINUTE_MS)
    assert.equal(next(unknown, 2 * DAY_MS, 60), MINUTE_MS)
    assert.equal(judgeProof(unknown, missing('elsewhere'), at(DAY_MS + 1)).state, 'lost')
  })

  it('comes every ten minutes on the first day of an asked one, then every six hours, and at its deadline', () => {
    assert.equal(next(asked('takeover')), 10 * MINUTE_MS)
    assert.equal(next(asked('takeover'), DAY_MS), 6 * 60 * MINUTE_MS)
    const served: ProofState = { ...asked('required'), served: true, deadlineMs: START_MS + MINUTE_MS }
    assert.equal(next(served), MINUTE_MS)
  })

  it('comes every minute of an hour where nobody knows whether the name leads here', () => {
    assert.equal(next(asked('former')), MINUTE_MS)
    assert.equal(next(asked('former'), 60 * MINUTE_MS), 10 * MINUTE_MS)
  })

  it('never comes where nothing is to be looked for', () => {
    for (const state of [NOT_ASKED, proven('traffic'), proven('operator')]) assert.equal(next(state), null)
  })
})
