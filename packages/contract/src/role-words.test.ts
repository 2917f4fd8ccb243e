import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { roleWords } from './role-words.ts'

const SITES = ['shop.example.com', 'blog.example.com', 'docs.example.com']

describe('what an invited person will be able to do', () => {
  it('names the only site of a client, and says what is seen of it', () => {
    assert.equal(
      roleWords('client', SITES.slice(0, 1)),
      'see the visits of crawlers, the cached pages, the incidents and the reports of shop.example.com',
    )
  })

  it('names two sites', () => {
    assert.equal(
      roleWords('viewer', SITES.slice(0, 2)),
      'see shop.example.com and blog.example.com with all settings, but change nothing',
    )
  })

  it('names the first of several sites and counts the others', () => {
    assert.equal(
      roleWords('editor', SITES),
      'see and change shop.example.com and 2 more sites: settings, rules and cached pages',
    )
  })

  it('is about all sites without a limit', () => {
    assert.equal(
      roleWords('admin', null),
      'see and change all sites of the account, and manage members and API keys',
    )
  })

  it('says that the sites of the invitation were deleted meanwhile', () => {
    assert.match(roleWords('viewer', []), /^see no site: those of the invitation were deleted/)
  })
})
