/** The API reference in a browser: a viewer of others, served from our own files under our content security policy. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openScreens, until } from './open-dashboard.ts'

const { api, page, complaints } = await openScreens(async (api, owner) => {
  await api.domain(owner, 'shop.example.com')
})
const requested: string[] = []
page.on('request', (request) => requested.push(request.url()))

for (const colorScheme of ['light', 'dark'] as const) {
  it(`/docs lists every operation in ${colorScheme} mode, asks no stranger, and complains of nothing`, async () => {
    await page.emulateMedia({ colorScheme })
    await page.goto(`${api.url}/docs`)
    const { operations } = api.contract
    // The viewer draws those that can be seen only.
    const listed = new Set<string>()
    await until('all operations are listed', async () => {
      const drawn = "[...document.querySelectorAll('.opblock')].map(({ id }) => id)"
      for (const id of await page.evaluate<string[]>(drawn)) listed.add(id)
      await page.mouse.wheel(0, 300)
      return listed.size === operations.length
    })
    const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
    assert.equal(background, colorScheme === 'dark' ? 'rgb(28, 32, 34)' : 'rgb(255, 255, 255)')
    for (const url of requested) assert(url.startsWith(`${api.url}/`) || url.startsWith('data:'), url)
    assert.deepEqual(complaints, [])
  })
}

it('a person who is signed in tries a request on the page', async () => {
  await page.goto(`${api.url}/docs`)
  const operation = page.locator('#operations-Domains-listDomains')
  // A click would wait for a navigation: the viewer names the open operation in the address.
  await operation.locator('.opblock-summary-control').dispatchEvent('click')
  await operation.getByRole('button', { name: 'Try it out' }).click()
  await operation.getByRole('button', { name: 'Execute' }).click()
  await until('the answer is shown', async () =>
    (await operation.locator('.live-responses-table').innerText()).includes('shop.example.com'),
  )
  assert.deepEqual(complaints, [])
})
