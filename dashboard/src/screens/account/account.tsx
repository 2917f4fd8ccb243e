import { Anchor } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Link } from 'wouter'
import { useSession } from '../../api/session.ts'
import { count } from '../../format.ts'
import { May } from '../../parts/may.tsx'
import { type FactRow, Facts, Note, Page, Section } from '../../parts/page.tsx'
import { ROUTES } from '../../route-map.ts'
import { ScreenTabs } from '../../shell/screen-tabs.tsx'

const OwnAccount = lazy(() => import('./own-account.tsx'))

export default function Account() {
  const { account } = useSession()
  return (
    <Page title="Settings" lead={account?.name}>
      <ScreenTabs label="Account settings" of={ROUTES.account} />
      <AccountFacts />
      {account !== null && (
        <Suspense fallback={null}>
          <OwnAccount />
        </Suspense>
      )}
    </Page>
  )
}

function AccountFacts() {
  const { account, person } = useSession()
  const facts: FactRow[] = [['Signed in as', person.email]]
  if (person.is_operator) facts.push(['Operator', 'of this installation'])
  if (account === null) {
    return (
      <Section title="Account">
        <Facts rows={facts} />
        <Note size="sm">You are in no account.</Note>
      </Section>
    )
  }
  const { plan } = account
  facts.push(
    ['Account', account.name],
    ['Role', account.role],
    ['Plan', plan.name],
    ['Sites', plan.site_limit === null ? 'no limit' : count(plan.site_limit)],
    ['Renders', `${count(plan.monthly_render_limit)} a month for each domain`],
    ['API keys', plan.api_keys ? 'yes' : 'no'],
    ['Webhooks', plan.webhooks ? 'yes' : 'no'],
  )
  return (
    <Section title="Account">
      <Facts rows={facts} />
      <May action="getPlan">
        <Note size="sm">
          <Anchor component={Link} href={ROUTES.plan} inherit underline="always">
            See how much you use
          </Anchor>
          . The operator of this installation can change the plan.
        </Note>
      </May>
    </Section>
  )
}
