import { Anchor, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { isDatabaseAway } from './api/database-state.ts'
import { useAskedIdentity } from './api/identity.ts'
import { installationQuery } from './api/queries.ts'
import { useRights } from './api/rights.ts'
import { SignedIn, sessionQuery, useSession } from './api/session.ts'
import { Loaded, Loading, NotFound } from './parts/states.tsx'
import { isScreen, ROUTES, signInPath } from './route-map.ts'
import { SignedOutFrame } from './shell/frame.tsx'
import { Shell } from './shell/shell.tsx'

const ClosedAccount = lazy(() => import('./screens/account/closed-account.tsx'))
const ConfirmIdentity = lazy(() => import('./screens/account/confirm-identity.tsx'))
const SignIn = lazy(() => import('./screens/account/sign-in.tsx'))
const SsoConfirmed = lazy(() => import('./screens/account/sso-confirmed.tsx'))
const NoAccountYet = lazy(() => import('./screens/account/no-account.tsx'))
const Welcome = lazy(() => import('./screens/account/welcome.tsx'))
const ForgottenPassword = lazy(() => import('./screens/account/forgotten-password.tsx'))
const Sites = lazy(() => import('./screens/sites/sites.tsx'))
const AddSite = lazy(() => import('./screens/add/add-site.tsx'))
const DomainScreen = lazy(() => import('./screens/domain/domain.tsx'))
const TrafficOfAccount = lazy(async () => ({
  default: (await import('./screens/traffic/traffic.tsx')).TrafficOfAccount,
}))
const Confirm = lazy(() => import('./screens/notifications/confirm.tsx'))
const Incidents = lazy(() => import('./screens/notifications/incidents.tsx'))
const Notifications = lazy(() => import('./screens/notifications/channels.tsx'))
const ReportScreen = lazy(() => import('./screens/notifications/report.tsx'))
const Reports = lazy(() => import('./screens/reports/reports.tsx'))
const PlanScreen = lazy(() => import('./screens/account/plan.tsx'))
const Keys = lazy(() => import('./screens/account/keys.tsx'))
const Members = lazy(() => import('./screens/account/members.tsx'))
const ShareLinks = lazy(() => import('./screens/account/share-links.tsx'))
const Shared = lazy(() => import('./screens/share-view/share-view.tsx'))
const AuditLog = lazy(() => import('./screens/account/audit-log.tsx'))
const Account = lazy(() => import('./screens/account/account.tsx'))
const Security = lazy(() => import('./screens/account/security.tsx'))
const Accounts = lazy(() => import('./screens/operator/accounts.tsx'))
const Nodes = lazy(() => import('./screens/operator/nodes.tsx'))
const Queue = lazy(() => import('./screens/operator/queue.tsx'))
const Failures = lazy(() => import('./screens/operator/failures.tsx'))

export function App() {
  return (
    <Suspense fallback={null}>
      <Switch>
        <Route path={ROUTES.welcome} component={Welcome} />
        <Route path={ROUTES.shared} component={Shared} />
        <Route path={ROUTES.confirm} component={Confirm} />
        <Route path={ROUTES.forgotten} component={ForgottenPassword} />
        <Route path={ROUTES.signIn} component={SignIn} />
        <Route path={ROUTES.ssoConfirmed} component={SsoConfirmed} />
        <Route path="/">
          <Redirect to={ROUTES.domains} replace />
        </Route>
        <Route>
          <OnlySignedIn>
            <Shell>
              <Suspense fallback={<Loading />}>
                <Screens />
              </Suspense>
            </Shell>
          </OnlySignedIn>
        </Route>
      </Switch>
    </Suspense>
  )
}

function Screens() {
  // The server also refuses these requests; owners do not see the screens.
  const { account, person } = useSession()
  const isOperator = person.is_operator
  return (
    <Switch>
      <Route path={ROUTES.operatorAccounts} component={isOperator ? Accounts : NotFound} />
      <Route path={ROUTES.operatorNodes} component={isOperator ? Nodes : NotFound} />
      <Route path={ROUTES.operatorQueue} component={isOperator ? Queue : NotFound} />
      <Route path={ROUTES.operatorFailures} component={isOperator ? Failures : NotFound} />
      <Route path={ROUTES.account} component={Account} />
      <Route path={ROUTES.security} component={Security} />
      <Route>{account === null ? <ClosedAccount /> : <ScreensOfAccount />}</Route>
    </Switch>
  )
}

type DomainAddress = { domain: string; part: string | undefined; page: string | undefined }

function ScreensOfAccount() {
  const mayAdd = useRights()('createDomain')
  return (
    <Switch>
      <Route path={ROUTES.domains} component={Sites} />
      <Route path={ROUTES.addDomain}>{mayAdd ? <AddSite /> : <NotFound />}</Route>
      <Route<DomainAddress> path={`${ROUTES.domain}/:part?/:page?`}>
        {({ domain, part, page }) => <DomainScreen key={domain} domain={domain} part={part} page={page} />}
      </Route>
      <Route path={ROUTES.traffic} component={TrafficOfAccount} />
      <Route path={ROUTES.incidents} component={Incidents} />
      <Route path={ROUTES.notifications} component={Notifications} />
      <Route path={ROUTES.report} component={ReportScreen} />
      <Route path={ROUTES.reports}>
        <Reports month={null} />
      </Route>
      <Route path={ROUTES.monthlyReport}>{({ month }) => <Reports month={month} />}</Route>
      <Route path={ROUTES.keys} component={Keys} />
      <Route path={ROUTES.members} component={Members} />
      <Route path={ROUTES.shareLinks} component={ShareLinks} />
      <Route path={ROUTES.auditLog} component={AuditLog} />
      <Route path={ROUTES.plan} component={PlanScreen} />
      <Route component={NotFound} />
    </Switch>
  )
}

function AskedIdentity() {
  const asked = useAskedIdentity()
  if (asked === null) return null
  return (
    <Suspense fallback={null}>
      <ConfirmIdentity ways={asked.ways} onAnswer={asked.answer} />
    </Suspense>
  )
}

function OnlySignedIn({ children }: { children: ReactNode }) {
  const [location] = useLocation()
  const session = useQuery(sessionQuery)
  // Empty until the session is known: a placeholder would only flash.
  if (session.data === undefined && session.error === null) return null
  // The banner says why, and retries.
  if (session.data === undefined && isDatabaseAway(session.error)) {
    return (
      <SignedOutFrame title="Please wait">
        <Text>This screen appears when the database is available again.</Text>
      </SignedOutFrame>
    )
  }
  return (
    <Loaded query={session}>
      {(session) =>
        session === null ? (
          <SignedOut location={location} />
        ) : (
          <SignedIn key={session.account?.id ?? 0} value={session}>
            {children}
            <AskedIdentity />
          </SignedIn>
        )
      }
    </Loaded>
  )
}

function SignedOut({ location }: { location: string }) {
  const installation = useQuery(installationQuery)
  if (isScreen(location)) {
    if (installation.data === undefined && installation.error === null) return null
    const { has_account: hasAccount = true, single_sign_on: sso = null } = installation.data ?? {}
    // Sign-ins by single sign-on need no account.
    if (!hasAccount && sso === null) return <NoAccountYet />
    return <Redirect to={signInPath(location)} replace />
  }
  return (
    <SignedOutFrame title="Page not found" lead="The address may be mistyped, or the page was removed.">
      <Anchor component={Link} href={ROUTES.signIn}>
        Go to sign-in
      </Anchor>
    </SignedOutFrame>
  )
}
