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
    "# the helpers of leases hear it too, and put back what they found, also where the daemon was killed\n"
    "KillMode=control-group\n"
    "TimeoutStopSec=90\n"
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

static void print_command(const char *key, const char *program, const char *words)
{
    printf("%s=\"", key);
    for (const char *c = program; *c != '\0'; c++)
        fputs(*c == '%' ? "%%" : (char[]){*c, '\0'}, stdout);
    printf("\" %s\n", words);
}

int cli_capd_unit_print(const cli_args *args)
{
    char self[PATH_MAX];
    if (realpath("/proc/self/exe", self) == NULL)
        return cli_error(args, JM_NOT_SUPPORTED, "mount /proc", "/proc/self/exe: %s", strerror(errno));
    if (strpbrk(self, "\"'\\") != NULL)
        return cli_error(args, JM_NOT_SUPPORTED, "install it elsewhere",
                         "systemd starts no program with a quote or a backslash in its path: %s", self);
    fputs(head, stdout);
    print_command("ExecStart", self, "capd");
    print_command("ExecStopPost", self, "cap restore");
    fputs(tail, stdout);
    return 0;
}
