import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'

import { Loading, Trouble } from './parts/states.tsx'
import { sessionQuery } from './queries.ts'
import { ROUTES, signInPath } from './route-map.ts'
import { NotFound } from './screens/not-found.tsx'
import { SignIn } from './screens/sign-in.tsx'
import { Shell } from './shell.tsx'
import { SignedIn } from './signed-in.tsx'

const Welcome = lazy(async () => ({ default: (await import('./screens/welcome.tsx')).Welcome }))
const Domains = lazy(async () => ({ default: (await import('./screens/domains.tsx')).Domains }))
const DomainScreen = lazy(async () => ({ default: (await import('./screens/domain.tsx')).DomainScreen }))
const TrafficOfAccount = lazy(async () => ({
  default: (await import('./screens/traffic.tsx')).TrafficOfAccount,
}))
const PlanScreen = lazy(async () => ({ default: (await import('./screens/plan.tsx')).PlanScreen }))
const Keys = lazy(async () => ({ default: (await import('./screens/keys.tsx')).Keys }))
const Account = lazy(async () => ({ default: (await import('./screens/account.tsx')).Account }))
const Forgotten = lazy(async () => ({ default: (await import('./screens/forgotten.tsx')).Forgotten }))
const Nodes = lazy(async () => ({ default: (await import('./screens/operator-nodes.tsx')).Nodes }))
const Queue = lazy(async () => ({ default: (await import('./screens/operator-queue.tsx')).Queue }))
const Failures = lazy(async () => ({ default: (await import('./screens/operator-failures.tsx')).Failures }))
const Accounts = lazy(async () => ({ default: (await import('./screens/operator-accounts.tsx')).Accounts }))

/** Which screen an address shows. Those of people who are signed in come in the shell. */
export function App() {
  return (
    <Switch>
      <Route path={ROUTES.welcome}>
        <Suspense fallback={null}>
          <Welcome />
        </Suspense>
      </Route>
      <Route path={ROUTES.forgotten}>
        <Suspense fallback={null}>
          <Forgotten />
        </Suspense>
      </Route>
      <Route path={ROUTES.signIn}>
        <SignIn />
      </Route>
      <Route path="/">
        <Redirect to={ROUTES.domains} replace />
      </Route>
      <Route>
        <OnlySignedIn>
          <Shell>
            <Suspense fallback={<Loading />}>
              <Switch>
                <Route path={ROUTES.domains} component={Domains} />
                <Route path={`${ROUTES.domain}/:part?`}>
                  {({ domain, part }) => <DomainScreen key={domain} domain={domain} part={part} />}
                </Route>
                <Route path={ROUTES.traffic} component={TrafficOfAccount} />
                <Route path={ROUTES.keys} component={Keys} />
                <Route path={ROUTES.plan} component={PlanScreen} />
                <Route path={ROUTES.account} component={Account} />
                <Route path={ROUTES.operatorAccounts} component={Accounts} />
                <Route path={ROUTES.operatorNodes} component={Nodes} />
                <Route path={ROUTES.operatorQueue} component={Queue} />
                <Route path={ROUTES.operatorFailures} component={Failures} />
                <Route component={NotFound} />
              </Switch>
            </Suspense>
          </Shell>
        </OnlySignedIn>
      </Route>
    </Switch>
  )
}

function OnlySignedIn({ children }: { children: ReactNode }) {
  const [location] = useLocation()
  const session = useQuery(sessionQuery)
  if (session.data === null) return <Redirect to={signInPath(location)} replace />
  if (session.data !== undefined) return <SignedIn value={session.data}>{children}</SignedIn>
  if (session.error === null) return null
  return <Trouble error={session.error} onRetry={() => session.refetch()} />
}
