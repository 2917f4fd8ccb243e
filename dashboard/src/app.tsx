import { Anchor } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'

import { SignedIn, sessionQuery, useMe } from './api/session.ts'
import { Loaded, Loading, NotFound } from './parts/states.tsx'
import { isScreen, ROUTES, signInPath } from './route-map.ts'
import { SignedOutFrame } from './shell/frame.tsx'
import { Shell } from './shell/shell.tsx'

const SignIn = lazy(() => import('./screens/account/sign-in.tsx'))
const Welcome = lazy(() => import('./screens/account/welcome.tsx'))
const ForgottenPassword = lazy(() => import('./screens/account/forgotten-password.tsx'))
const Domains = lazy(() => import('./screens/domain/domains.tsx'))
const DomainScreen = lazy(() => import('./screens/domain/domain.tsx'))
const TrafficOfAccount = lazy(async () => ({
  default: (await import('./screens/traffic/traffic.tsx')).TrafficOfAccount,
}))
const Confirm = lazy(() => import('./screens/notifications/confirm.tsx'))
const Incidents = lazy(() => import('./screens/notifications/incidents.tsx'))
const Notifications = lazy(() => import('./screens/notifications/channels.tsx'))
const ReportScreen = lazy(() => import('./screens/notifications/report.tsx'))
const PlanScreen = lazy(() => import('./screens/account/plan.tsx'))
const Keys = lazy(() => import('./screens/account/keys.tsx'))
const Account = lazy(() => import('./screens/account/account.tsx'))
const Accounts = lazy(() => import('./screens/operator/accounts.tsx'))
const Nodes = lazy(() => import('./screens/operator/nodes.tsx'))
const Queue = lazy(() => import('./screens/operator/queue.tsx'))
const Failures = lazy(() => import('./screens/operator/failures.tsx'))

export function App() {
  return (
    <Suspense fallback={null}>
      <Switch>
        <Route path={ROUTES.welcome} component={Welcome} />
        <Route path={ROUTES.confirm} component={Confirm} />
        <Route path={ROUTES.forgotten} component={ForgottenPassword} />
        <Route path={ROUTES.signIn} component={SignIn} />
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
  const isOperator = useMe().role === 'operator'
  return (
    <Switch>
      <Route path={ROUTES.domains} component={Domains} />
      <Route path={`${ROUTES.domain}/:part?`}>
        {({ domain, part }) => <DomainScreen key={domain} domain={domain} part={part} />}
      </Route>
      <Route path={ROUTES.traffic} component={TrafficOfAccount} />
      <Route path={ROUTES.incidents} component={Incidents} />
      <Route path={ROUTES.notifications} component={Notifications} />
      <Route path={ROUTES.report} component={ReportScreen} />
      <Route path={ROUTES.keys} component={Keys} />
      <Route path={ROUTES.plan} component={PlanScreen} />
      <Route path={ROUTES.account} component={Account} />
      <Route path={ROUTES.operatorAccounts} component={isOperator ? Accounts : NotFound} />
      <Route path={ROUTES.operatorNodes} component={isOperator ? Nodes : NotFound} />
      <Route path={ROUTES.operatorQueue} component={isOperator ? Queue : NotFound} />
      <Route path={ROUTES.operatorFailures} component={isOperator ? Failures : NotFound} />
      <Route component={NotFound} />
    </Switch>
  )
}

function OnlySignedIn({ children }: { children: ReactNode }) {
  const [location] = useLocation()
  const session = useQuery(sessionQuery)
  // Empty until the session is known: a placeholder would only flash.
  if (session.data === undefined && session.error === null) return null
  return (
    <Loaded query={session}>
      {(me) => (me === null ? <SignedOut location={location} /> : <SignedIn value={me}>{children}</SignedIn>)}
    </Loaded>
  )
}

function SignedOut({ location }: { location: string }) {
  if (isScreen(location)) return <Redirect to={signInPath(location)} replace />
  return (
    <SignedOutFrame title="Page not found" lead="The address may be mistyped, or the page was removed.">
      <Anchor component={Link} href={ROUTES.signIn}>
        Go to sign-in
      </Anchor>
    </SignedOutFrame>
  )
}
