import { NativeSelect, Stack } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Link, useLocation } from 'wouter'
import { useRights } from '../../api/rights.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { Editable } from '../../parts/may.tsx'
import { Loading } from '../../parts/states.tsx'
import { type SettingsPage, settingsPath } from '../../route-map.ts'
import { CertificateSection } from '../domain/overview.tsx'
import { DeleteDomain } from './delete-domain.tsx'
import { FORM_PAGES } from './fields.tsx'
import { FormPage } from './form-page.tsx'
import { OriginAccess } from './origin-access.tsx'
import { OwnCertificate } from './own-certificate.tsx'
import classes from './settings.module.css'
import { type SettingsPageEntry, settingsPagesFor } from './settings-pages.ts'
import { WebhookTokens } from './tokens.tsx'

const Robots = lazy(async () => ({ default: (await import('../site-files/robots.tsx')).Robots }))
const Redirects = lazy(async () => ({ default: (await import('../site-files/redirects.tsx')).Redirects }))

/** The pages with forms of their own. */
const OTHER_PAGES: Partial<Record<SettingsPage, React.ComponentType<{ domain: DomainWithSettings }>>> = {
  robots: Robots,
  redirects: Redirects,
  access: OriginAccess,
  certificate: CertificatePage,
  tokens: WebhookTokens,
  delete: DeleteDomain,
}

function CertificatePage({ domain }: { domain: DomainWithSettings }) {
  return (
    <Stack gap="lg">
      {domain.settings.way === 'dns' && <CertificateSection domain={domain.custom_domain} />}
      <OwnCertificate domain={domain} />
    </Stack>
  )
}

/** The settings of a domain, one page at a time, and how to go to the others. */
export default function DomainSettings({ domain, page }: { domain: DomainWithSettings; page: string }) {
  const pages = settingsPagesFor(useRights())
  const shown = pages.find((entry) => entry.page === page)
  // The caller knows which pages there are.
  if (shown === undefined) return null
  return (
    <div className={classes.frame}>
      <PageList domain={domain.custom_domain} pages={pages} shown={shown.page} />
      <div>
        <Suspense fallback={<Loading />}>
          <Editable action={shown.edits}>
            <ShownPage key={shown.page} domain={domain} page={shown.page} />
          </Editable>
        </Suspense>
      </div>
    </div>
  )
}

function ShownPage({ domain, page }: { domain: DomainWithSettings; page: SettingsPage }) {
  const Sections = FORM_PAGES[page]
  if (Sections !== undefined) return <FormPage domain={domain} page={page} Sections={Sections} />
  const Other = OTHER_PAGES[page]
  return Other !== undefined && <Other domain={domain} />
}

/** A list beside the page, or a select above it where the window is narrow. */
function PageList(props: { domain: string; pages: readonly SettingsPageEntry[]; shown: SettingsPage }) {
  const { domain, pages, shown } = props
  const [, navigate] = useLocation()
  return (
    <Stack gap={2} className={classes.pages}>
      <nav aria-label="Settings" className={classes.list}>
        {pages.map(({ page, title }) => (
          <Link
            key={page}
            href={settingsPath(domain, page)}
            className={classes.link}
            aria-current={page === shown ? 'page' : undefined}
          >
            {title}
          </Link>
        ))}
      </nav>
      <NativeSelect
        className={classes.select}
        label="Page of the settings"
        value={shown}
        data={pages.map(({ page, title }) => ({ value: page, label: title }))}
        onChange={(event) => navigate(settingsPath(domain, event.currentTarget.value as SettingsPage))}
      />
    </Stack>
  )
}
