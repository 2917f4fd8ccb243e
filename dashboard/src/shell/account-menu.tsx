import { Button, Menu } from '@mantine/core'
import IconSelector from '@tabler/icons-react/dist/esm/icons/IconSelector.mjs'
import type { Me } from '../api/types.ts'
import classes from './shell.module.css'

type Account = { id: number; name: string; role: string }

/** Is loaded for people who are in several accounts only. */
export default function AccountMenu({
  account,
  others,
  onChoose,
}: {
  account: Me
  others: readonly Account[]
  onChoose(id: number): void
}) {
  return (
    <Menu position="bottom-start" withinPortal>
      <Menu.Target>
        <Button
          variant="default"
          justify="space-between"
          rightSection={<IconSelector size={16} aria-hidden />}
          aria-label={`Account ${account.name}. Switch account`}
        >
          <span className={classes.accountName}>{account.name}</span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Switch account</Menu.Label>
        {others.map(({ id, name, role }) => (
          <Menu.Item key={id} onClick={() => onChoose(id)}>
            {name} <span className="quiet">({role})</span>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
