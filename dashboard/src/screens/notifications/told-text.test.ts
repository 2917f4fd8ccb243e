import assert from 'node:assert/strict'
import { it } from 'node:test'
import { toldText } from './told-text.ts'

const told = (...emails: string[]) => toldText(emails, 'you@example.com')

it('who hears of trouble is said with the reader first', () => {
  assert.equal(told(), 'Nobody hears of trouble by e-mail')
  assert.equal(told('you@example.com'), 'You hear of trouble at you@example.com')
  assert.equal(told('ann@example.com'), 'ann@example.com hears of trouble')
  assert.equal(told('ann@example.com', 'ben@example.com'), 'ann@example.com, ben@example.com hear of trouble')
  assert.equal(
    told('ann@example.com', 'you@example.com'),
    'You hear of trouble at you@example.com, and so does ann@example.com',
  )
  assert.equal(
    told('ann@example.com', 'you@example.com', 'ben@example.com'),
    'You hear of trouble at you@example.com, and so do ann@example.com, ben@example.com',
  )
})
