import { Anchor } from '@mantine/core'
import { Link } from 'wouter'

import { Page } from '../parts/page.tsx'
import { Empty } from '../parts/states.tsx'
import { ROUTES } from '../route-map.ts'

export function NotFound() {
  return (
    <Page title="There is no such page">
      <Empty
        title="Nothing is here"
        action={
          <Anchor component={Link} href={ROUTES.domains}>
            Go to your domains
          </Anchor>
        }
      >
        The address may have been mistyped, or what it showed is gone.
      </Empty>
    </Page>
  )
}
