import { Menu } from '@mantine/core'
import { useLocation } from 'wouter'
import { useRights } from '../../api/rights.ts'
import type { PortfolioDomain } from '../../api/types.ts'
import { MenuAnchor } from '../../parts/menu-anchor.tsx'
import { addPath, domainPath } from '../../route-map.ts'
import { useBulk } from './bulk-bar.tsx'
import classes from './sites.module.css'
import type { Opened } from './sites.tsx'
import { TagDialog } from './tag-dialog.tsx'

/** `csv`: the address of the list as a file. */
export function MoreMenu(props: { csv: string; onOpen: (opened: Opened) => void; close: () => void }) {
  const { csv, onOpen, close } = props
  const may = useRights()
  return (
    <Menu opened onClose={close} position="bottom-end" withinPortal returnFocus>
      <Menu.Target>
        <MenuAnchor className={classes.menuAt} />
      </Menu.Target>
      <Menu.Dropdown aria-label="More">
        {may('importDomains') && <Menu.Item onClick={() => onOpen('import')}>Import from a file</Menu.Item>}
        {may('listTemplates') && (
          <Menu.Item onClick={() => onOpen('templates')}>Templates of settings</Menu.Item>
        )}
        <Menu.Item component="a" href={csv} download>
          Export the list as CSV
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

/** The actions of one row. What asks first is done from the bar. */
export function SiteMenu(props: {
  site: PortfolioDomain
  close: () => void
  onSelect: (selected: ReadonlySet<string>) => void
  onTags: () => void
}) {
  const { site, close, onSelect, onTags } = props
  const [, navigate] = useLocation()
  const may = useRights()
  const bulk = useBulk([site])
  const name = site.custom_domain
  const go = (route: Parameters<typeof domainPath>[0]) => navigate(domainPath(route, name))
  return (
    <Menu opened onClose={close} position="bottom-end" withinPortal returnFocus>
      <Menu.Target>
        <MenuAnchor />
      </Menu.Target>
      <Menu.Dropdown aria-label={`Actions for ${name}`}>
        {site.state === 'setup' && may('createDomain') && (
          <Menu.Item onClick={() => navigate(addPath(name, 'connect'))}>Continue the set-up</Menu.Item>
        )}
        <Menu.Item onClick={() => go('domainTraffic')}>Traffic</Menu.Item>
        <Menu.Item onClick={() => go('domainPages')}>Pages</Menu.Item>
        {may('listRenders') && <Menu.Item onClick={() => go('domainRenders')}>Renders</Menu.Item>}
        {may('getRobots') && <Menu.Item onClick={() => go('domainSettings')}>Settings</Menu.Item>}
        <Menu.Item component="a" href={`https://${name}/`} target="_blank" rel="noreferrer">
          Open the site
        </Menu.Item>
        {may('bulk') && <Menu.Item onClick={onTags}>Tags</Menu.Item>}
        {may('bulk') && (
          <Menu.Item onClick={() => void bulk.switchTo(site.is_active ? 'pause' : 'resume')}>
            {site.is_active ? 'Pause' : 'Resume'}
          </Menu.Item>
        )}
        {may('bulk') && <Menu.Item onClick={() => onSelect(new Set([name]))}>Select for actions</Menu.Item>}
      </Menu.Dropdown>
    </Menu>
  )
}

/** The tags of one site. */
export function SiteTags({ site, onClose }: { site: PortfolioDomain; onClose: () => void }) {
  const { send } = useBulk([site])
  return <TagDialog sites={[site]} onClose={onClose} send={send} />
}
