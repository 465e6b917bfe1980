/* The unit of `joulemap capd` for systemd. */
#include "cli/capd_unit.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = //
    "# /etc/systemd/system/joulemap-capd.service, as `joulemap capd --unit` wrote it (docs/capd.md)\n"
    "[Unit]\n"
    "Description=Power caps of GPUs for ordinary users\n"
    "Documentation=man:joulemap(1)\n"
    "After=nvidia-persistenced.service\n"
    "\n"
    "[Service]\n";

static const char tail[] =
    "ExecReload=kill -HUP $MAINPID\n"
    "Restart=on-failure\n"
    "# the helpers of leases put back what they found, also where the daemon is killed\n"
    "KillMode=process\n"
    "RuntimeDirectory=joulemap\n"
    "StateDirectory=joulemap\n"
    "UMask=0022\n"
    "# to set a cap, NVIDIA's driver asks for this and nothing else\n"
    "CapabilityBoundingSet=CAP_SYS_ADMIN\n"
    "DevicePolicy=closed\n"
    "DeviceAllow=char-nvidia* rw\n"
    "IPAddressDeny=any\n"
    "LockPersonality=yes\n"
    "NoNewPrivileges=yes\n"
    "PrivateNetwork=yes\n"
    "PrivateTmp=yes\n"
    "ProtectControlGroups=yes\n"
    "ProtectHome=read-only\n"
    "ProtectHostname=yes\n"
    "ProtectKernelLogs=yes\n"
    "ProtectKernelModules=yes\n"
    "ProtectKernelTunables=yes\n"
    "ProtectSystem=strict\n"
    "RestrictAddressFamilies=AF_UNIX\n"
    "RestrictNamespaces=yes\n"
    "RestrictRealtime=yes\n"
    "RestrictSUIDSGID=yes\n"
    "SystemCallArchitectures=native\n"
    "SystemCallFilter=@system-service\n"
    "\n"
    "[Install]\n"
    "WantedBy=multi-user.target\n";

int cli_capd_unit_print(const cli_args *args)
{
    char self[PATH_MAX];
    if (realpath("/proc/self/exe", self) == NULL)
        return cli_error(args, JM_NOT_SUPPORTED, "mount /proc", "/proc/self/exe: %s", strerror(errno));
    if (strpbrk(self, "\"'\\") != NULL)
        return cli_error(args, JM_NOT_SUPPORTED, "install it elsewhere",
                         "systemd starts no program with a quote or a backslash in its path: %s", self);
    printf("%sExecStart=\"", head);
    for (const char *c = self; *c != '\0'; c++)
        fputs(*c == '%' ? "%%" : (char[]){*c, 0}, stdout);
    printf("\" capd\n%s", tail);
    return 0;
}
